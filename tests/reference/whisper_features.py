"""Features of a sound by transformers' WhisperFeatureExtractor, which pads it to half a minute.

usage: whisper_features.py > tests/data/whisper_features.json       (needs transformers 5.24 and numpy 2)

The sound is two seconds of tones and noise drawn by a generator that the test has, too. Of 3,000 frames some are kept.
"""
import json
import sys

import numpy as np
import transformers

RATE, SAMPLES = 16000, 32000
FRAMES = [0, 1, 2, 50, 99, 100, 101, 150, 198, 199, 200, 201, 202, 1000, 2999]


def sound():
    """A third of a tone that rises, and noise: x[i+1] = 1664525 x[i] + 1013904223 modulo 2^32."""
    t = np.arange(SAMPLES) / RATE
    noise, state = np.zeros(SAMPLES), 1
    for i in range(SAMPLES):
        state = (1664525 * state + 1013904223) % 2**32
        noise[i] = state / 2**31 - 1
    return (0.3 * np.sin(2 * np.pi * (200 + 600 * t) * t) + 0.01 * noise).astype(np.float32)


extractor = transformers.WhisperFeatureExtractor()
features = extractor(sound(), sampling_rate=RATE, return_tensors="np")["input_features"][0]
filters = np.asarray(extractor.mel_filters).T.astype(np.float32)
assert features.shape == (80, 3000) and filters.shape == (80, 201)
json.dump({"transformers": transformers.__version__, "frames": FRAMES, "features": features[:, FRAMES].T.tolist(),
           "filters": [[int(b), int(i), float(filters[b, i])] for b, i in zip(*np.nonzero(filters))]},
          sys.stdout, separators=(",", ":"))
