import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BackgroundWork } from "../../../../lib/fans/identity/context.ts";
import { createNoMailer } from "../../../../lib/fans/identity/create_identity.ts";
import type { LogFields, Logger } from "../../../../lib/http/mod.ts";

const backgroundWorkMax = 10_000;

function recording(): { readonly logger: Logger; readonly lines: [string, LogFields][] } {
  const lines: [string, LogFields][] = [];
  const logger: Logger = {
    enabled: () => true,
    log: (_, event, fields) => void lines.push([event, fields]),
  };
  return { logger, lines };
}

describe("work in the background", () => {
  it("is awaited by idle, also if it starts more", async () => {
    const background = new BackgroundWork(recording().logger);
    const done: string[] = [];
    background.run("first", {}, async () => {
      await Promise.resolve();
      background.run("second", {}, async () => void done.push("second"));
      done.push("first");
    });
    await background.idle();
    assert.deepEqual(done.sort(), ["first", "second"]);
  });

  it("is handed to the runtime, which may wait for it, and never rejects there", async () => {
    const { logger, lines } = recording();
    const waited: Promise<unknown>[] = [];
    new BackgroundWork(logger).run("mail", { waitUntil: work => void waited.push(work) }, async () => {
      throw new Error("no route to host");
    });
    await Promise.all(waited);
    assert.equal(waited.length, 1);
    assert.deepEqual(lines, [
      ["background_work_failed", { work: "mail", reason: "Error: no route to host" }],
    ]);
  });

  it("is logged if it throws synchronously", async () => {
    const { logger, lines } = recording();
    const background = new BackgroundWork(logger);
    background.run("hook", {}, () => {
      throw new TypeError("not a function");
    });
    await background.idle();
    assert.equal(lines[0]?.[0], "background_work_failed");
  });

  it("is bounded: excess work is dropped and logged", async () => {
    const { logger, lines } = recording();
    const background = new BackgroundWork(logger);
    let release = (): void => {};
    const held = new Promise<void>(resolve => {
      release = resolve;
    });
    let runs = 0;
    const work = (): Promise<void> => {
      runs += 1;
      return held;
    };
    for (let index = 0; index <= backgroundWorkMax; index++) background.run("held", {}, work);
    assert.equal(runs, backgroundWorkMax);
    assert.deepEqual(lines, [["background_work_dropped", { work: "held" }]]);
    release();
    await background.idle();
    background.run("held", {}, work);
    await background.idle();
    assert.equal(runs, backgroundWorkMax + 1);
  });
});

describe("a platform without a mailer", () => {
  it("drops mail and says so, without address and content", async () => {
    const { logger, lines } = recording();
    await createNoMailer(logger).send({
      to: "ann@example.com",
      kind: "passwordCode",
      subject: "s",
      text: "12345678",
    });
    assert.equal(lines[0]?.[0], "mail_not_configured");
    assert.doesNotMatch(JSON.stringify(lines), /ann@|12345678/);
  });
});
