"""Maps the top-level folders to the one import name that the distribution installs: generators → keybench.generators …

The folders are found, not listed, so that a new engine stays one folder.
"""

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py

FOLDERS = ("databases", "generators", "results", "runners", "scenarios")
packages = find_packages(include=[pattern for folder in FOLDERS for pattern in (folder, f"{folder}.*")])


class WithoutThisFile(build_py):
    """The root folder is the package `keybench`, but this file is no module of it."""

    def find_package_modules(self, package, package_dir):  # noqa: D102
        modules = super().find_package_modules(package, package_dir)
        return [module for module in modules if module[:2] != ("keybench", "setup")]


setup(
    packages=["keybench", *(f"keybench.{name}" for name in packages)],
    package_dir={"keybench": ".", **{f"keybench.{name}": name.replace(".", "/") for name in packages}},
    cmdclass={"build_py": WithoutThisFile},
)
