import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile, writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { openFileStore } from "../../../adapters/file/mod.ts";
import { until } from "../../support/until.ts";
import { temporaryDirectory } from "./directory.ts";
import { startWriter } from "./writer.ts";

const inUse = { code: "storage_unavailable", message: /in use by/ };

/** The id of a process that has ended. */
async function endedProcess(): Promise<number> {
  const child = spawn(process.execPath, ["--version"], { stdio: "ignore" });
  await once(child, "exit");
  assert.ok(child.pid !== undefined);
  return child.pid;
}

describe("the lock of a journal directory", () => {
  it("keeps a second store of this process out until the first is disposed of", async () => {
    const directory = await temporaryDirectory();
    const first = await openFileStore(directory);
    await assert.rejects(openFileStore(directory), inUse);
    await assert.rejects(openFileStore(`${directory}/../${directory.split("/").at(-1)}`), inUse);
    await first[Symbol.asyncDispose]();
    await using _second = await openFileStore(directory);
  });

  it("keeps another process out while its holder lives, and lets it in when that was killed", async context => {
    const directory = await temporaryDirectory();
    const writer = startWriter(context, directory);
    await writer.acknowledged(1);
    await assert.rejects(openFileStore(directory), inUse);
    await writer.kill();
    assert.match(await readFile(join(directory, "lock"), "utf8"), new RegExp(String(writer.pid)));
    await using _store = await openFileStore(directory);
  });

  it("is taken from a process that is gone, even if its id, or ours, is used again", async () => {
    const directory = await temporaryDirectory();
    const host = hostname();
    const stale = [
      JSON.stringify({ host, pid: await endedProcess(), started: null }),
      JSON.stringify({ host, pid: process.pid, started: null }),
      JSON.stringify({ host, pid: process.ppid, started: "another boot:1" }),
      "",
    ];
    for (const holder of stale) {
      if (holder.includes("another boot") && process.platform !== "linux") continue;
      await writeFile(join(directory, "lock"), holder);
      await using _store = await openFileStore(directory);
      assert.equal(JSON.parse(await readFile(join(directory, "lock"), "utf8")).pid, process.pid);
    }
  });

  it("is taken from a process that has ended and whose parent has not noticed", {
    skip: process.platform === "linux" ? false : "only Linux tells",
  }, async context => {
    const directory = await temporaryDirectory();
    // The shell becomes a program that never asks what became of its child.
    const parent = spawn("sh", ["-c", "sleep 0.01 & echo $!; exec sleep 60"]);
    context.after(() => parent.kill("SIGKILL"));
    const [output] = (await once(parent.stdout, "data")) as [Buffer];
    const zombie = Number(output.toString());
    let stat = "";
    await until("the child is a zombie", async () => {
      stat = await readFile(`/proc/${zombie}/stat`, "utf8");
      return stat.includes(") Z ");
    });
    const boot = (await readFile("/proc/sys/kernel/random/boot_id", "utf8")).trim();
    const started = `${boot}:${stat.slice(stat.lastIndexOf(")") + 2).split(" ")[19]}`;
    await writeFile(join(directory, "lock"), JSON.stringify({ host: hostname(), pid: zombie, started }));
    await using _store = await openFileStore(directory);
  });

  it("is not taken from a process of another host, about which nothing can be known", async () => {
    const directory = await temporaryDirectory();
    const holder = JSON.stringify({ host: "elsewhere.invalid", pid: await endedProcess(), started: null });
    await writeFile(join(directory, "lock"), holder);
    await assert.rejects(openFileStore(directory), inUse);
    assert.equal(await readFile(join(directory, "lock"), "utf8"), holder);
  });

  it("is given back where the journal turns out to be damaged", async () => {
    const directory = await temporaryDirectory();
    await writeFile(join(directory, "log-0000000002"), "");
    await assert.rejects(openFileStore(directory), { message: /is missing/ });
    await assert.rejects(readFile(join(directory, "lock")), { code: "ENOENT" });
  });
});
