/** Chromium for tests and benchmarks of the studio. */

import { existsSync } from "node:fs";
import { type Browser, chromium } from "playwright-core";

/** As Debian installs it. The shell has no windows of its own to draw, which halves the time of the tests. */
const executablePath = ["/usr/bin/chromium-headless-shell", "/usr/bin/chromium"].find(existsSync) ?? "";

/** The reason to skip tests that need Chromium, or false where it can be started. */
export function browserAvailable(): string | false {
  if (process.env.GRANDSTAND_REQUIRE_BROWSER === "1") return false;
  return executablePath === "" ? "chromium is not installed" : false;
}

/** Starts a browser. It ends with this process. */
export function launchBrowser(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    // Containers run tests as root, with a small /dev/shm.
    args: ["--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu"],
  });
}
