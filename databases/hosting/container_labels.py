"""Labels of containers. They say who made the container and whether its run is still alive."""

from __future__ import annotations

import os
import socket

import psutil

from keybench.databases.contract.options import ContainerOptions
from keybench.databases.hosting import docker_api
from keybench.databases.hosting.recipe import Recipe


def labels_of(recipe: Recipe, options: ContainerOptions) -> dict[str, str]:
    """The labels of a new container. By them `clean` finds it and knows whether its run is still alive."""
    return {
        f"{docker_api.LABEL}engine": recipe.engine,
        f"{docker_api.LABEL}machine": socket.gethostname(),
        f"{docker_api.LABEL}runner": f"{os.getpid()}/{psutil.Process().create_time():.0f}",
        f"{docker_api.LABEL}kept": "yes" if options.keep else "no",
    }


def in_use(container: docker_api.Container) -> bool:
    """Whether a run on this machine uses the container, or a run on another machine may be using it."""
    labels = container.labels
    if labels.get(f"{docker_api.LABEL}machine") != socket.gethostname():
        return True
    process, _, began = labels.get(f"{docker_api.LABEL}runner", "0/0").partition("/")
    try:
        return bool(abs(psutil.Process(int(process)).create_time() - float(began)) < 2)
    except (psutil.Error, ValueError):
        return False


def is_kept(container: docker_api.Container) -> bool:
    """Whether the container was started with `--keep-server`."""
    return container.labels.get(f"{docker_api.LABEL}kept") == "yes"
