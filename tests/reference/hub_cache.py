"""The other side of `crates/pumice/tests/hub/python.rs`: huggingface_hub fetches a model into a cache, or finds it there.

    pip install huggingface_hub==1.33.0
    HF_ENDPOINT=http://127.0.0.1:PORT python hub_cache.py fetch|find ORG/REPO CACHE

Prints the folder of the snapshot. `find` connects to nothing (`local_files_only`), and reads every file.
"""

import pathlib
import sys

from huggingface_hub import HfApi, hf_hub_download, snapshot_download

mode, repository, cache = sys.argv[1:]
if mode == "fetch":
    for file in HfApi().model_info(repository, revision="main").siblings:
        if file.rfilename.endswith((".json", ".safetensors")):
            hf_hub_download(repository, file.rfilename, cache_dir=cache)
folder = snapshot_download(repository, cache_dir=cache, local_files_only=True)
for path in sorted(pathlib.Path(folder).rglob("*")):
    if path.is_file():
        name = path.relative_to(folder).as_posix()
        found = hf_hub_download(repository, name, cache_dir=cache, local_files_only=True)
        assert pathlib.Path(found).read_bytes() == path.read_bytes(), name
print(folder)
