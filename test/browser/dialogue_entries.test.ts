/** What a producer typed and uploaded, while tasks fail, connections break and the page is left. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import {
  button,
  fileOf,
  input,
  type PlayedAnswer,
  play,
  registerWorkflow,
  type SentRequest,
  text,
} from "./_dialogue.ts";
import { openStudioWorld, type StudioWorld } from "./_studio.ts";

const running = (progress: number) => ({ id: "t1", state: "running", pollIntervalMs: 5_000, progress });

describe("what was typed into a dialogue", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  let path: string;
  before(async () => {
    world = await openStudioWorld();
    path = `#/projects/${ids.project}/workflows/${await registerWorkflow(world, "Import questions")}`;
  });
  after(() => world.dispose());

  async function open(answer: (request: SentRequest) => PlayedAnswer) {
    const { page, faults } = await world.open("");
    const sent = await play(page, answer);
    await page.goto(`${world.url}/studio${path}`);
    return { page, faults, sent };
  }

  it("is there again after a task that failed, with its files, and is not lost without a question", async () => {
    const form = {
      blocks: [input("text", "name"), input("file", "csv", "Questions"), input("colour", "tint")],
      actions: [button("go", "Start")],
    };
    let presses = 0;
    const { page, faults, sent } = await open(({ action, taskId }) => {
      if (action !== undefined) {
        presses += 1;
        return { blocks: [text("Wait")], task: { ...running(10), id: `t${presses}` } };
      }
      return taskId === undefined
        ? form
        : { ...form, task: { id: taskId, state: "failed", error: "Row 3 has no question." } };
    });
    const name = page.getByLabel("name");
    await name.fill("Final");
    await page.getByLabel("Questions").setInputFiles(fileOf("q.csv", "a,b\n"));
    await page.getByText("q.csv").waitFor();
    await page.getByLabel("tint").click();
    await page.keyboard.press("Escape");
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("Wait").waitFor();
    await page.clock.runFor(5_000);
    await page.getByText("Row 3 has no question.").waitFor();
    assert.equal(await name.inputValue(), "Final");
    await page.getByText("The file that you chose").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByText("Wait").waitFor();
    const inputs = { name: "Final", csv: btoa("a,b\n") };
    assert.deepEqual(
      sent.flatMap(each => (each.action === undefined ? [] : [each.inputs])),
      [inputs, inputs],
    );
    const questions: string[] = [];
    let isLeaving = false;
    page.on("dialog", async dialog => {
      questions.push(dialog.type());
      await (isLeaving ? dialog.accept() : dialog.dismiss());
    });
    const address = page.url();
    await page.getByRole("link", { name: "Events" }).click();
    await until("the page asks", () => questions.length === 1);
    await until("the page stays", () => page.url() === address);
    await page.clock.runFor(5_000);
    await page.getByText("Row 3 has no question.").waitFor();
    assert.equal(await name.inputValue(), "Final");
    isLeaving = true;
    await page.reload();
    await name.waitFor();
    assert.deepEqual(questions, ["confirm", "beforeunload"]);
    assert.equal(await name.inputValue(), "");
    await page.getByRole("link", { name: "Events" }).click();
    await page.getByRole("heading", { level: 1, name: "Club app" }).waitFor();
    assert.equal(questions.length, 2, "nothing is typed, so nothing is asked");
    assert.deepEqual(faults, []);
  });

  it("waits for a lost connection, which the page shows at once, also while a task runs", async () => {
    let isLost = false;
    const { page } = await open(({ action }) => {
      if (isLost) return null;
      return action === undefined
        ? { blocks: [text("Ready")], actions: [button("go", "Start")] }
        : { blocks: [], task: running(10) };
    });
    await page.getByRole("button", { name: "Start" }).click();
    await page.getByRole("progressbar").waitFor();
    await page.context().setOffline(true);
    const status = page.getByRole("status").filter({ hasText: "You are offline." });
    await status.waitFor();
    assert.equal(await status.evaluate(each => each.classList.contains("unseen")), false);
    await page.context().setOffline(false);
    await status.waitFor({ state: "detached" }).catch(() => {});
    isLost = true;
    await page.clock.runFor(5_000);
    const again = page.locator(".quiet", { hasText: "No answer yet. Trying again…" });
    await again.waitFor();
  });
});
