"""Values of windows, mel filters, spectra and their averages: the onnx package's evaluator, NumPy, SciPy.

usage: goldens_signal.py > tests/data/op_goldens_signal.json       (needs onnx 1.23.2, numpy 2 and scipy 1.17)
"""
import numpy as np
import scipy.signal
from op_goldens import CASES, DRAW, add, by_onnx, floats, write


def number(v, dtype=np.int64):
    return np.array(v, dtype)


def tables():
    for op in ["HannWindow", "HammingWindow", "BlackmanWindow"]:
        for periodic in [0, 1]:
            for size in [2, 3, 7, 16, 400]:
                by_onnx(op, {"periodic": periodic}, number(size))
    for mels, length, rate in [(8, 16, 8192), (5, 15, 100), (80, 400, 16000), (1, 2, 8), (40, 64, 16000)]:
        for low, high in [(0.0, 0.5), (0.05, 0.4)]:
            by_onnx("MelWeightMatrix", {}, number(mels), number(length), number(rate),
                    number(low * rate, np.float32), number(high * rate, np.float32))


def log_mels():
    for compress, over in [("none", "all"), ("none", "frame"), ("whisper", "all"), ("whisper", "frame")]:
        for log, eps, power in [("ln", 1e-10, 2.0), ("log10", 1e-5, 1.0), ("log10", 1e-10, 2.0), ("ln", 0.5, 3.0)]:
            if compress == "whisper" and (log, eps) != ("log10", 1e-10):
                continue
            for shape, mels, bins in [((3, 9, 2), 4, 9), ((2, 4, 9, 2), 3, 7), ((9, 2), 2, 9)]:
                spec = floats(*shape) * np.exp(-8 * DRAW.random(shape[:-1] + (1,))).astype(np.float32)
                filters = np.maximum(floats(mels, bins), 0)
                size = np.abs(spec[..., 0].astype(np.float64) + 1j * spec[..., 1])
                e = size[..., :bins] ** power @ filters.T.astype(np.float64)
                v = (np.log if log == "ln" else np.log10)(np.maximum(e, eps))
                if compress == "whisper":
                    axes = tuple(range(max(v.ndim - 2, 0), v.ndim)) if over == "all" else (-1,)
                    v = (np.maximum(v, v.max(axes, keepdims=True) - 8) + 4) / 4
                attributes = {"eps": eps, "log": log, "power": power, "compress": compress, "over": over}
                add("log_mel", attributes, [spec, filters], [v.astype(np.float32)])


def averages():
    for n, segments in [(8, 3), (9, 1), (16, 2), (2, 2), (31, 4)]:
        x = floats(2, n * segments)
        spec = np.fft.fft(x.reshape(2, segments, n).astype(np.float64))
        pairs = np.stack([spec.real, spec.imag], -1).astype(np.float32)
        welch = lambda scaling, side: scipy.signal.welch(
            x.astype(np.float64), 1.0, "boxcar", n, 0, n, False, side, scaling)[1]
        half = n // 2 + 1
        density, one = welch("density", True), welch("density", False)[:, :half]
        for scaling, double, p in [("none", 0, one * n), ("none", 1, density * n), ("density", 1, density),
                                   ("density", 0, one), ("density", None, density), ("none", None, one * n)]:
            attributes = {"scaling": scaling} | ({} if double is None else {"double": double})
            add("welch_psd", attributes, [pairs], [p.astype(np.float32)])
        for kind, p in [("local", one * n), ("largest", density * n)]:
            for k in [0, 2, 7]:
                peaks = np.zeros((2, k, 2), np.float32)
                peaks[..., 0] = -1
                for b in range(2):
                    found = scipy.signal.find_peaks(p[b])[0] if kind == "local" else np.arange(half)
                    found = sorted(found, key=lambda f: -p[b][f])[:k]
                    peaks[b, : len(found)] = np.stack([found, p[b][found]], -1) if found else 0
                add("welch_peaks", {"k": k, "kind": kind}, [pairs], [peaks])


def transforms():
    for axis, shape in [(1, (2, 8, 1)), (0, (5, 3, 2)), (1, (2, 3, 7, 2)), (-2, (1, 34, 1)), (2, (2, 1, 12, 2))]:
        for length in [None, 6, 11]:
            for inverse, onesided in [(0, 0), (1, 0), (0, 1), (1, 1)]:
                if onesided and shape[-1] != 1 + inverse:
                    continue
                x = floats(*shape) / 4
                by_onnx("DFT", {"inverse": inverse, "onesided": onesided}, x, None if length is None else number(length),
                        number(axis), opset=20)
                CASES[-1]["operands"] = CASES[-1]["operands"][:1]
                CASES[-1]["attributes"] |= {"axis": axis} | ({} if length is None else {"length": length})
    pair = lambda y: np.stack([y.real, y.imag], -1).astype(np.float32)
    for norm in ["backward", "ortho", "forward"]:
        for n in [4, 9, 17, 30]:
            x = floats(2, n, 2) / 4
            z = x[..., 0] + 1j * x[..., 1].astype(np.float64)
            for inverse, y in [(0, np.fft.fft(z, norm=norm)), (1, np.fft.ifft(z, norm=norm))]:
                add("fft", {"norm": norm, "inverse": inverse, "onesided": 0}, [x], [pair(y)])
            y = np.fft.irfft(z, n, norm=norm).astype(np.float32)[..., None]
            add("fft", {"norm": norm, "inverse": 1, "onesided": 1, "length": n}, [x], [y])


def frames():
    for step, n, windowed in [(1, 4, 1), (3, 5, 1), (4, 4, 0), (8, 16, 1), (5, 32, 0)]:
        for parts, onesided in [(1, 1), (1, 0), (2, 0)]:
            x, window = floats(2, 32, parts) / 4, DRAW.random(n).astype(np.float32) if windowed else None
            by_onnx("STFT", {"onesided": onesided}, x if parts == 2 else x, number(step), window, number(n), opset=17)
            CASES[-1]["operands"] = [o for o in (CASES[-1]["operands"][0], CASES[-1]["operands"][2]) if o is not None]
            CASES[-1]["attributes"] |= {"step": step, "length": n}


for make in (tables, log_mels, averages, transforms, frames):
    make()
write()
