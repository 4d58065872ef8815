"""Make the picture in the README: run a job on the local cloud, and take a picture of its report in Chromium.

.venv/bin/python docs/make_picture.py
"""

from __future__ import annotations

import os
import shutil
import tempfile
import time
from pathlib import Path

from playwright.sync_api import sync_playwright

import bellwren

PICTURE = Path(__file__).parent / "images" / "report.png"
ITEMS = 64
WORKERS = 6
SIZE = {"width": 1180, "height": 850}


def simulate(scenario: int) -> float:
    """Some scenarios take longer than others, one is hopeless, and one takes its process down."""
    if scenario == 5:
        raise ValueError("this scenario has no solution")
    if scenario == 23:
        os._exit(1)
    time.sleep(0.25 + (scenario * 37 % 11) / 20 + (3.0 if scenario == 60 else 0.0))
    return scenario / 2


def main() -> None:
    """Run the job, and write the picture."""
    cloud = bellwren.connect()
    job = cloud.map(
        simulate,
        range(ITEMS),
        name="price scenarios",
        workers=WORKERS,
        deadline_s=120,
        retries=1,
        tolerate=0.1,
        progress=False,
    )
    job.wait()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        page = Path(folder) / "report.html"
        job.report(page)
        chromium = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        shown = chromium.new_page(viewport=SIZE)
        shown.goto(page.as_uri())
        PICTURE.parent.mkdir(exist_ok=True)
        shown.screenshot(path=PICTURE)
        chromium.close()
    print(f"{job.id}: {PICTURE}, {PICTURE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
