// Words whose unsigned order is that of floats: -0 as 0, NaN above infinity.
uint ordered_float(uint w) {
    if ((w & 0x7fffffffu) > 0x7f800000u) return 0xffffffffu;
    if (w == 0x80000000u) w = 0u;
    return (w & 0x80000000u) != 0u ? ~w : w | 0x80000000u;
}
