"""The convolutions that D6 measures: tests/data/convolutions.json, drawn once, before any kernel was tuned for them.

usage: conv_shapes.py > tests/data/convolutions.json

The rule. LAYERS are distinct convolutions of six kinds of models: their operands' channels and extents as those models
have them at their usual input sizes. 36 layers are drawn without repetition, in turns from the six models, each with a
batch of 1, 4 or 16; 12 more are drawn from LAYERS of 3 x 3 and changed: three get groups, three a dilation of 2, three
a 5 x 5 kernel, three become transposed 4 x 4 of stride 2. Draws are SplitMix64 of seed 20.
"""
import json

# kind of model: (name, channels of the operand, of the result, extents, kernel, stride, groups)
LAYERS = {
    "resnet": [
        ("stem", 3, 64, [224, 224], [7, 7], 2, 1),
        ("1x1 in", 64, 256, [56, 56], [1, 1], 1, 1),
        ("3x3", 64, 64, [56, 56], [3, 3], 1, 1),
        ("1x1 out", 256, 64, [56, 56], [1, 1], 1, 1),
        ("3x3 down", 128, 128, [56, 56], [3, 3], 2, 1),
        ("3x3", 128, 128, [28, 28], [3, 3], 1, 1),
        ("1x1 down", 256, 512, [56, 56], [1, 1], 2, 1),
        ("3x3 down", 256, 256, [28, 28], [3, 3], 2, 1),
        ("3x3", 256, 256, [14, 14], [3, 3], 1, 1),
        ("1x1", 1024, 256, [14, 14], [1, 1], 1, 1),
        ("3x3", 512, 512, [7, 7], [3, 3], 1, 1),
        ("1x1", 512, 2048, [7, 7], [1, 1], 1, 1),
    ],
    "mobilenet": [
        ("stem", 3, 32, [224, 224], [3, 3], 2, 1),
        ("depthwise", 96, 96, [112, 112], [3, 3], 2, 96),
        ("depthwise", 144, 144, [56, 56], [3, 3], 1, 144),
        ("1x1", 144, 24, [56, 56], [1, 1], 1, 1),
        ("depthwise", 192, 192, [28, 28], [3, 3], 1, 192),
        ("1x1", 384, 64, [14, 14], [1, 1], 1, 1),
        ("depthwise", 576, 576, [14, 14], [3, 3], 2, 576),
        ("depthwise", 960, 960, [7, 7], [3, 3], 1, 960),
        ("1x1", 320, 1280, [7, 7], [1, 1], 1, 1),
    ],
    "convnext": [
        ("stem", 3, 96, [224, 224], [4, 4], 4, 1),
        ("depthwise", 96, 96, [56, 56], [7, 7], 1, 96),
        ("down", 96, 192, [56, 56], [2, 2], 2, 1),
        ("depthwise", 192, 192, [28, 28], [7, 7], 1, 192),
        ("depthwise", 384, 384, [14, 14], [7, 7], 1, 384),
        ("depthwise", 768, 768, [7, 7], [7, 7], 1, 768),
        ("down", 384, 768, [14, 14], [2, 2], 2, 1),
    ],
    "unet": [
        ("in", 4, 320, [64, 64], [3, 3], 1, 1),
        ("3x3", 320, 320, [64, 64], [3, 3], 1, 1),
        ("down", 320, 320, [64, 64], [3, 3], 2, 1),
        ("3x3", 640, 640, [32, 32], [3, 3], 1, 1),
        ("joined", 960, 320, [64, 64], [3, 3], 1, 1),
        ("3x3", 1280, 1280, [16, 16], [3, 3], 1, 1),
        ("3x3", 1280, 1280, [8, 8], [3, 3], 1, 1),
        ("out", 320, 4, [64, 64], [3, 3], 1, 1),
    ],
    "speech": [
        ("first", 1, 512, [16000], [10], 5, 1),
        ("second", 512, 512, [3199], [3], 2, 1),
        ("fifth", 512, 512, [399], [2], 2, 1),
        ("mel", 80, 384, [3000], [3], 1, 1),
        ("mel down", 384, 384, [3000], [3], 2, 1),
        ("positions", 768, 768, [49], [128], 1, 16),
        ("depthwise", 256, 256, [400], [31], 1, 256),
    ],
    "video": [
        ("stem", 3, 64, [8, 112, 112], [3, 7, 7], [1, 2, 2], 1),
        ("3x3x3", 64, 64, [8, 56, 56], [3, 3, 3], 1, 1),
        ("down", 64, 128, [8, 56, 56], [3, 3, 3], 2, 1),
        ("3x3x3", 128, 128, [4, 28, 28], [3, 3, 3], 1, 1),
        ("3x3x3", 256, 256, [2, 14, 14], [3, 3, 3], 1, 1),
        ("1x3x3", 64, 144, [8, 56, 56], [1, 3, 3], 1, 1),
        ("3x1x1", 144, 64, [8, 56, 56], [3, 1, 1], 1, 1),
    ],
}
MASK = (1 << 64) - 1


class Draws:
    """SplitMix64."""

    def __init__(self, seed):
        self.state = seed

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return (z ^ (z >> 31)) % n


def case(model, layer, batch):
    _, cin, cout, extents, kernel, stride, groups = layer
    n = len(extents)
    strides = stride if isinstance(stride, list) else [stride] * n
    # As these models pad: half the kernel where positions are as many as elements, nothing where windows do not overlap.
    pads = [0 if k == s or model == "speech" and n == 1 and cin in (1, 512) else k // 2 for k, s in zip(kernel, strides)]
    return {"model": model, "batch": batch, "channels": cin, "outputs": cout, "extents": extents, "kernel": kernel,
            "strides": strides, "pads": pads, "dilations": [1] * n, "groups": groups, "transposed": False}


def changed(draws, turn, batch):
    threes = [(m, l) for m, layers in LAYERS.items() for l in layers if l[4] == [3, 3] and l[6] == 1 and l[1] >= 32 and l[2] >= 32]
    model, layer = threes[draws.below(len(threes))]
    c = case(model, layer, batch)
    if turn == 0:
        c["groups"] = [2, 4, 8][draws.below(3)]
    elif turn == 1:
        c["dilations"], c["pads"] = [2, 2], [2, 2]
    elif turn == 2:
        c["kernel"], c["pads"] = [5, 5], [2, 2]
    else:
        c["kernel"], c["strides"], c["pads"], c["transposed"] = [4, 4], [2, 2], [1, 1], True
        c["extents"] = [e // 2 for e in c["extents"]]
    return c


def name(c):
    extents = "x".join(map(str, c["extents"]))
    text = f"{c['model']}_b{c['batch']}_{c['channels']}x{extents}_to_{c['outputs']}_k{'x'.join(map(str, c['kernel']))}"
    text += f"_s{'x'.join(map(str, c['strides']))}"
    for key, plain, letter in (("groups", 1, "g"),):
        text += f"_{letter}{c[key]}" if c[key] != plain else ""
    text += "_d2" if max(c["dilations"]) > 1 else ""
    return text + ("_transposed" if c["transposed"] else "")


def main():
    draws, drawn = Draws(20), []
    left = {model: list(layers) for model, layers in LAYERS.items()}
    models = list(left)
    for i in range(36):
        layers = left[models[i % 6]]
        layer = layers.pop(draws.below(len(layers)))
        drawn.append(case(models[i % 6], layer, [1, 4, 16][draws.below(3)]))
    while len(drawn) < 48:
        c = changed(draws, len(drawn) % 4, [1, 4, 16][draws.below(3)])
        if name(c) not in map(name, drawn):
            drawn.append(c)
    print("[\n" + ",\n".join(" " + json.dumps({"name": name(c), **c}) for c in drawn) + "\n]")


if __name__ == "__main__":
    main()
