"""Maps the top-level folders to the one import name that the distribution installs: generators → keybench.generators …

The folders are found, not listed, so that a new engine stays one folder.
"""

from setuptools import find_packages, setup

FOLDERS = ("databases", "generators", "results", "runners", "scenarios")
packages = find_packages(include=[pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")])

setup(
    packages=["keybench", *(f"keybench.{name}" for name in packages)],
    package_dir={"keybench": ".", **{f"keybench.{name}": name.replace(".", "/") for name in packages}},
)
