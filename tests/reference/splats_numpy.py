"""Three scenes of Gaussian splats by NumPy, for the ops of the example `custom_op` (OPS 3.13).

usage: splats_numpy.py > tests/data/splats.json       (needs numpy 2)

Everything is f64; operands and what lies between the two ops are rounded to f32.
"""
import json
import sys

import numpy as np

DRAW = np.random.default_rng(20)


def f32(x):
    return np.asarray(x, np.float64).astype(np.float32)


def rotation(q):
    q = q / np.linalg.norm(q)
    w, v = q[0], q[1:]
    cross = np.array([[0, -v[2], v[1]], [v[2], 0, -v[0]], [-v[1], v[0], 0]])
    return (w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * cross


def basis(d):
    """Real spherical harmonics, each as N times a polynomial, in the order and with the signs of splat files."""
    x, y, z = d
    polynomials = [
        1, y, z, x,
        x * y, y * z, 3 * z * z - 1, x * z, x * x - y * y,
        y * (3 * x * x - y * y), x * y * z, y * (5 * z * z - 1), z * (5 * z * z - 3), x * (5 * z * z - 1),
        z * (x * x - y * y), x * (x * x - 3 * y * y)]
    squares = [1 / 4, 3 / 4, 3 / 4, 3 / 4, 15 / 4, 15 / 4, 5 / 16, 15 / 4, 15 / 16,
               35 / 32, 105 / 4, 21 / 32, 7 / 16, 21 / 32, 105 / 16, 35 / 32]
    signs = [1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1, 1, -1]
    return np.array(polynomials) * np.sqrt(np.array(squares) / np.pi) * signs


def prepare(s, scale):
    camera = s["camera"].astype(np.float64)
    turn, shift = camera[:9].reshape(3, 3), camera[9:12]
    fx, fy, cx, cy, near = camera[12:]
    eye = -np.linalg.inv(turn) @ shift
    rows = []
    for i, p in enumerate(s["position"].astype(np.float64)):
        x, y, z = turn @ p + shift
        if z <= near:
            continue
        r, sizes = rotation(s["quaternion"][i].astype(np.float64)), np.exp(s["log_scale"][i].astype(np.float64))
        sigma = r @ np.diag(sizes) @ np.diag(sizes).T @ r.T
        jacobian = np.array([[fx / z, 0, -fx * x / z**2], [0, fy / z, -fy * y / z**2]]) @ turn
        flat = jacobian @ sigma @ jacobian.T + 0.3 * np.eye(2)
        inverse = np.linalg.inv(flat)
        colour = s["colour"][i].astype(np.float64)
        if colour.ndim == 2:
            colour = np.maximum(0.5 + basis((p - eye) / np.linalg.norm(p - eye))[:len(colour)] @ colour, 0)
        opacity = 1 / (1 + np.exp(-np.float64(s["opacity"][i])))
        row = [fx * x / z + cx, fy * y / z + cy, inverse[0, 0], inverse[0, 1], inverse[1, 1], opacity,
               *colour, scale * np.sqrt(np.linalg.eigvalsh(flat)[1])]
        rows.append((z, i, row))
    rows.sort(key=lambda r: (r[0], r[1]))
    return f32([r[2] for r in rows]).reshape(-1, 10), f32([r[0] for r in rows])


def rasterize(rows, width, height, cutoff, threshold, most):
    v, u = np.meshgrid(np.arange(height) + 0.5, np.arange(width) + 0.5, indexing="ij")
    light, passes = np.zeros((height, width, 3)), np.ones((height, width))
    steps, open_ = np.zeros((height, width), int), np.ones((height, width), bool)
    for row in rows.astype(np.float64):
        d = np.stack([u - row[0], v - row[1]], -1)
        inverse = np.array([[row[2], row[3]], [row[3], row[4]]])
        alpha = np.minimum(0.99, row[5] * np.exp(-0.5 * np.einsum("hwi,ij,hwj->hw", d, inverse, d)))
        on = open_ & ((d**2).sum(-1) <= row[9]**2) & (alpha >= cutoff) & (steps < most)
        alpha = np.where(on, alpha, 0)
        light += (passes * alpha)[..., None] * row[6:9]
        passes *= 1 - alpha
        steps += on
        open_ &= passes >= threshold
    return f32(light), f32(passes)


def camera(turn, shift, focus, width, height, near):
    return f32([*np.asarray(turn).ravel(), *shift, focus, focus * 1.1, width / 2, height / 2 - 0.25, near])


def scene(name, n, colours, view, width, height, near=0.2, scale=3.0, cutoff=1 / 255, threshold=1e-4, most=None):
    turn, shift = view
    s = {"position": f32(DRAW.normal(size=(n, 3)) * 0.7), "log_scale": f32(DRAW.uniform(-3.2, -1.2, (n, 3))),
         "quaternion": f32(DRAW.normal(size=(n, 4))), "opacity": f32(DRAW.normal(size=n) * 2 + 1),
         "colour": f32(colours(n)), "camera": camera(turn, shift, 0.9 * width, width, height, near)}
    # Some lie at one depth, in a file's order.
    s["position"][n // 2:n // 2 + 3] = s["position"][n // 2]
    rows, depth = prepare(s, scale)
    light, passes = rasterize(rows, width, height, cutoff, threshold, np.inf if most is None else most)
    settings = f"width={width} height={height} radius_scale={scale!r} alpha_cutoff={float(cutoff)!r} " \
               f"transmittance_threshold={threshold!r}" + ("" if most is None else f" max_splat_steps={most}")
    shapes = {key: list(value.shape) for key, value in s.items()}
    numbers = {key: value.ravel() for key, value in s.items()}
    results = {"splats": rows.ravel(), "depth": depth, "light": light.ravel(), "passes": passes.ravel()}
    tell = lambda values: [float(f"{v:.9g}") for v in values]
    return {"name": name, "settings": settings, "count": len(depth), "shapes": shapes,
            "operands": {k: tell(v) for k, v in numbers.items()}, "results": {k: tell(v) for k, v in results.items()}}


def main():
    front = (np.eye(3), (0, 0, 3.0))
    aside = (rotation(np.array([0.9, 0.1, -0.4, 0.15])), (0.2, -0.1, 2.5))
    inside = (rotation(np.array([0.5, -0.3, 0.7, 0.2])), (0, 0.1, 0.3))
    plain = lambda n: DRAW.uniform(0, 1, (n, 3))
    harmonics = lambda terms: lambda n: DRAW.normal(size=(n, terms, 3)) * 0.4
    scenes = [
        scene("colours, from the front", 14, plain, front, 24, 18),
        scene("harmonics of degree 3, from aside", 30, harmonics(16), aside, 20, 22, scale=2.5, cutoff=0.01),
        scene("among many, few steps", 40, harmonics(4), inside, 21, 17, near=0.05, threshold=0.02, most=5),
    ]
    json.dump({"scenes": scenes}, sys.stdout, separators=(",", ":"))
    print()


main()
