/** Dialogues of workflows in a browser: what is shown, sent and refused. The tests play the backends. */

import assert from "node:assert/strict";
import { mkdtemp, rm, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { decodeFile, encodeFile } from "../../lib/workflow/dialogue/mod.ts";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { until } from "../support/until.ts";
import {
  button,
  dropFile,
  fileOf,
  focusIs,
  input,
  type PlayedAnswer,
  play,
  registerWorkflow,
  type SentRequest,
  setHidden,
  settle,
  tabTo,
  text,
} from "./_dialogue.ts";
import { assertAccessible, assertFits, holdClock, openStudioWorld, type StudioWorld } from "./_studio.ts";

const pngUrl =
  "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
const png = decodeFile(pngUrl);
/** Markup that must stay text. */
const hostile = '<img src=x onerror="document.title=1"><b>bold</b>';
const running = (progress?: number) => ({ id: "t1", state: "running", pollIntervalMs: 5_000, progress });

describe("dialogues in a browser", { skip: browserAvailable() }, () => {
  let world: StudioWorld;
  let path: string;
  let folder: string;
  before(async () => {
    world = await openStudioWorld();
    folder = await mkdtemp(join(tmpdir(), "grandstand-files-"));
    path = `#/projects/${ids.project}/workflows/${await registerWorkflow(world, "Import questions")}`;
  });
  after(async () => {
    await world.dispose();
    await rm(folder, { recursive: true });
  });

  /** Addresses of pictures that were loaded, each with its referrer. */
  const loaded: (string | undefined)[] = [];

  /** Opens a dialogue whose backend answers so. */
  async function open(answer: (request: SentRequest, turn: number) => PlayedAnswer | Promise<PlayedAnswer>) {
    const { page, faults } = await world.open("");
    const sent = await play(page, answer);
    await page.route(/pictures\.example/, async route => {
      loaded.push(route.request().url(), route.request().headers().referer);
      await route.fulfill({
        contentType: "image/png",
        body: Buffer.from(pngUrl.split(",")[1] ?? "", "base64"),
      });
    });
    await page.goto(`${world.url}/studio${path}`);
    return { page, faults, sent };
  }

  it("runs from the list of workflows to the end, by the keyboard alone", async () => {
    const { page, faults } = await world.open(`#/projects/${ids.project}/workflows`);
    const sent = await play(page, ({ action, taskId }, turn) => {
      if (action === "go")
        return {
          blocks: [text("Creating"), input("text", "note")],
          task: running(20),
          actions: [button("stop")],
        };
      if (taskId !== undefined && turn === 3)
        return {
          blocks: [text("Creating"), input("text", "note")],
          task: running(64),
          actions: [button("stop")],
        };
      if (taskId !== undefined)
        return {
          blocks: [{ type: "alert", severity: "success", text: "12 created" }],
          task: { id: "t1", state: "completed" },
        };
      return {
        blocks: [text("Which <em>event</em>?"), input("text", "name", "Event name")],
        actions: [button("go", "Start"), button("stop")],
        payload: { seal: "abc" },
      };
    });
    const card = page.locator("a.card", { hasText: "Import questions" });
    await tabTo(page, card);
    await page.keyboard.press("Enter");
    await page.getByLabel("Event name").waitFor();
    await focusIs(page.locator(".block.text:not(.field)"));
    await assertAccessible(page);
    await holdClock(page);
    await tabTo(page, page.getByLabel("Event name"));
    await page.keyboard.type("Final");
    await page.keyboard.press("Enter");
    await page.getByRole("progressbar", { name: "In progress" }).waitFor();
    assert.equal(await page.getByRole("progressbar").getAttribute("value"), "20");
    await focusIs(page.locator(".block.text:not(.field)"));
    const note = page.getByLabel("note");
    await tabTo(page, note);
    await page.keyboard.type("typed while it polls");
    await page.keyboard.press("Enter");
    await page.clock.runFor(5_000);
    await page.getByText("64 %", { exact: true }).waitFor();
    await focusIs(note);
    assert.equal(await note.inputValue(), "typed while it polls");
    await page.clock.runFor(5_000);
    await page.getByText("12 created").waitFor();
    await focusIs(page.getByRole("alert").filter({ hasText: "12 created" }));
    await page.getByRole("status").filter({ hasText: "end of the dialogue" }).waitFor();
    await page.clock.runFor(60_000);
    await settle(page);
    const scope = { type: "projects", id: ids.project };
    const payload = { seal: "abc" };
    assert.deepEqual(
      sent.map(({ key: _, ...request }) => request),
      [
        { scope },
        { scope, action: "go", inputs: { name: "Final" }, payload },
        { scope, taskId: "t1" },
        { scope, taskId: "t1" },
      ],
    );
    assert.equal(new Set(sent.map(({ key }) => key)).size, 4);
    await tabTo(page, page.getByRole("button", { name: "Start again" }));
    await page.keyboard.press("Enter");
    await page.getByLabel("Event name").waitFor();
    assert.equal(await page.getByLabel("Event name").inputValue(), "");
    assert.deepEqual(faults, []);
  });

  it("shows every block and input, in the dark, in the light and on a telephone", async () => {
    const { page, faults, sent } = await open(() => ({
      blocks: [
        text("Import into <strong>Club</strong>.<br>Then <em>go</em> &amp; see.", "Welcome"),
        { type: "image", url: pngUrl, label: "Logo of the club", alt_text: "A red dot" },
        { type: "loader", text: "Reading", progress: 60.4 },
        { type: "loader" },
        { type: "colour", value: "#C2185B80", label: "Home" },
        ...["success", "info", "warning", "error"].map(severity => ({
          type: "alert",
          severity,
          text: `A ${severity}`,
        })),
        { type: "alert", title: "Mind", text: "the gap" },
        input("text", "name", "Event name"),
        input("file", "csv", "Questions"),
        input("image", "logo", "Logo"),
        input("colour", "colour", "Colour"),
        { type: "chart" },
      ],
      actions: [button("go", "Start"), button("stop")],
    }));
    await page.getByRole("button", { name: "Start" }).waitFor();
    const words = await page.locator(".blocks > *").allInnerTexts();
    assert.deepEqual(
      words.map(each => each.replace(/\n+/g, "|")),
      [
        "Welcome|Import into Club.|Then go & see.",
        "Logo of the club",
        "Reading|60 %",
        "In progress",
        "Home|#c2185b80",
        "Success|A success",
        "Note|A info",
        "Warning|A warning",
        "Error|A error",
        "Mind|the gap",
        "Event name",
        "Questions|Choose a file, or drop it here",
        "Logo|Choose an image, or drop it here",
        "Colour|No colour chosen",
        "This part (“chart”) cannot be shown here.",
      ],
    );
    const swatch = page.locator(".swatch span");
    assert.match(
      await swatch.evaluate(each => getComputedStyle(each).backgroundColor),
      /^rgba\(194, 24, 91, 0\.50?\d*\)$/,
    );
    assert.equal(await page.getByRole("progressbar", { name: "Reading" }).getAttribute("value"), "60.4");
    assert.equal(await page.getByRole("progressbar", { name: "In progress" }).getAttribute("value"), null);
    assert.equal(await page.getByRole("img", { name: "A red dot" }).count(), 1);
    await page.getByLabel("Event name").fill("Final");
    await page.getByLabel("Questions").setInputFiles(fileOf("q.csv", "a,b\n"));
    await page.getByLabel("Logo", { exact: true }).setInputFiles(fileOf("logo.png", png));
    await page.getByLabel("Colour").fill("#00ff00");
    await page.getByText("#00ff00").waitFor();
    await page.getByText("logo.png · 70 bytes").waitFor();
    const width = () =>
      page
        .locator(".drop img")
        .last()
        .evaluate(each => (each as HTMLImageElement).naturalWidth);
    await until("the image is shown", async () => (await width()) === 1);
    await assertAccessible(page);
    await page.setViewportSize({ width: 360, height: 800 });
    await assertFits(page);
    await page.getByRole("button", { name: "Start" }).click();
    await until("the request is sent", () => sent.length === 2);
    const inputs = { name: "Final", csv: btoa("a,b\n"), logo: encodeFile(png), colour: "#00ff00" };
    assert.deepEqual(sent[1]?.inputs, inputs);
    await page.locator(".alert:focus", { hasText: "A success" }).waitFor();
    assert.deepEqual(faults, []);
  });

  it("sends a press once, however often the button is pressed", async () => {
    let finish = (): void => undefined;
    const { page, faults, sent } = await open(async ({ action }, turn) => {
      const view = {
        blocks: [text(turn > 3 ? "The last view" : `View ${turn}`), input("text", "name")],
        actions: [button("go", `Next ${turn}`), button("stop")],
      };
      if (action === "stop")
        await new Promise<void>(resolve => {
          finish = resolve;
        });
      return view;
    });
    const next = page.getByRole("button", { name: "Next" });
    await next.dblclick();
    await page.getByText("View 2").waitFor();
    await next.dispatchEvent("click", { detail: 2 });
    await next.click();
    await page.getByText("View 3").waitFor();
    const stop = page.getByRole("button", { name: "stop" });
    await stop.click();
    assert.deepEqual(await Promise.all([stop, next].map(each => each.getAttribute("aria-disabled"))), [
      "true",
      "true",
    ]);
    assert.deepEqual(await Promise.all([stop, next].map(each => each.getAttribute("aria-busy"))), [
      "true",
      null,
    ]);
    await focusIs(stop);
    await page.getByRole("status").filter({ hasText: "Working…" }).waitFor();
    await stop.click({ force: true });
    await next.click({ force: true });
    await page.getByLabel("name").press("Enter");
    assert.equal(sent.length, 4);
    finish();
    await page.getByRole("button", { name: "Next 4" }).waitFor();
    await page.getByLabel("name").focus();
    await page.keyboard.down("Enter");
    await page.getByRole("button", { name: "Next 5" }).waitFor();
    await focusIs(page.getByLabel("name"));
    await page.keyboard.down("Enter");
    await page.keyboard.up("Enter");
    await settle(page);
    assert.equal(sent.length, 5);
    assert.deepEqual(faults, []);
  });

  it("keeps what was typed while a backend fails, and repeats a press only on request, under its key", async () => {
    const failures: (PlayedAnswer | Promise<PlayedAnswer>)[] = [
      { status: 503 },
      null,
      { blocks: [text("Ready"), input("text", "name")], actions: [button("go", "Start")] },
      { status: 502 },
      null,
      new Promise(() => undefined),
      { status: 200, body: "<h1>Welcome</h1>" },
      { status: 200, body: '{"blocks": {}}' },
      { status: 401 },
      { status: 413 },
    ];
    const { page, faults, sent } = await open((_, turn) =>
      turn > failures.length ? { blocks: [] } : (failures[turn - 1] ?? null),
    );
    // The clock of the page has no say in this one.
    await page.evaluate(() => {
      AbortSignal.timeout = ms => {
        const controller = new AbortController();
        setTimeout(() => controller.abort(), ms);
        return controller.signal;
      };
    });
    await page.getByRole("status").filter({ hasText: "Trying again…" }).waitFor();
    await until("a repeated request is answered", async () => {
      await page.clock.runFor(1_000);
      return (await page.getByLabel("name").count()) > 0;
    });
    await page.getByLabel("name").fill("Final");
    await page.keyboard.press("Enter");
    const problem = page.locator("p.alert");
    const again = page.getByRole("button", { name: "Try again" });
    const cannot = ["has a problem", "cannot be reached", "cannot be reached"];
    for (const words of [...cannot, "answered wrongly", "answered wrongly"]) {
      await problem.filter({ hasText: words }).waitFor();
      await page.clock.runFor(60_000);
      await settle(page);
      await assertKept();
      const isSilentNext = sent.length === 5;
      await again.click();
      if (isSilentNext) await page.clock.runFor(35_000);
    }
    await page.getByRole("button", { name: "Use an access token" }).click();
    await page.getByLabel("Access token").fill(world.token);
    await page.keyboard.press("Enter");
    await problem.filter({ hasText: "too large" }).waitFor();
    await assertKept();
    await assertAccessible(page);
    assert.equal(await again.isVisible(), false);
    assert.deepEqual(
      sent.map(({ action }) => action),
      [undefined, undefined, undefined, "go", "go", "go", "go", "go", "go", "go"],
    );
    assert.equal(new Set(sent.slice(3).map(({ key }) => key)).size, 1);
    await page.getByText("Notes for the author").click();
    await page.getByText("/blocks: It is no list").waitFor();
    await page.getByRole("button", { name: "Start", exact: true }).click();
    await page.getByText("Done", { exact: true }).waitFor();
    assert.notEqual(sent[10]?.key, sent[9]?.key);
    await page.getByRole("link", { name: "Close" }).click();
    await page.getByRole("heading", { level: 1, name: "Club app" }).waitFor();
    assert.deepEqual(faults, []);

    async function assertKept(): Promise<void> {
      assert.equal(await page.getByLabel("name").inputValue(), "Final");
    }
  });

  it("begins anew after a reload, and sends nothing more once it is left", async () => {
    const { page, faults, sent } = await open(({ action, taskId }) =>
      action === undefined && taskId === undefined
        ? { blocks: [text("Ready")], actions: [button("go", "Start")], payload: { seal: 1 } }
        : { blocks: [], task: running(10) },
    );
    const start = page.getByRole("button", { name: "Start" });
    await start.click();
    await page.getByRole("progressbar").waitFor();
    await page.reload();
    await start.waitFor();
    assert.deepEqual(Object.keys(sent[2] ?? {}).sort(), ["key", "scope"]);
    await holdClock(page);
    await start.click();
    await page.getByRole("progressbar").waitFor();
    await setHidden(page, true);
    await page.clock.runFor(9_000);
    await settle(page);
    assert.equal(sent.length, 4);
    await page.clock.runFor(2_000);
    await until("the request is sent", () => sent.length === 5);
    await setHidden(page, false);
    await page.getByRole("link", { name: "Events" }).click();
    await page.getByRole("heading", { level: 1, name: "Club app" }).waitFor();
    await page.clock.runFor(60_000);
    await settle(page);
    assert.equal(sent.length, 5);
    assert.deepEqual(faults, []);
  });

  it("runs and loads nothing that a backend or a file brings", async () => {
    const images = [
      "https://pictures.example/a.png",
      "javascript:document.title=1",
      "data:text/html,<script>document.title=1</script>",
      "data:image/svg+xml;base64,PHN2Zy8+",
      "http://pictures.example/a.png",
      "//pictures.example/b.png",
      "https://user:word@pictures.example/c.png",
      "blob:https://x/y",
      "file:///etc/passwd",
    ];
    const { page, faults, sent } = await open(({ action }) => ({
      blocks: [
        text(hostile, hostile),
        text('<a href="javascript:document.title=1">x</a><STRONG onclick=alert(1)>y</STRONG><strong>\u202Ez'),
        ...images.map(url => ({ type: "image", url, alt_text: hostile, label: hostile })),
        ...[
          "red",
          "#fff;background:url(https://pictures.example/d.png)",
          "url(https://pictures.example/e.png)",
        ].map(value => ({ type: "colour", value })),
        { type: "alert", title: hostile, text: hostile, severity: "constructor" },
        { type: "loader", text: hostile, progress: "90" },
        input("text", "constructor", hostile),
        input("file", "toString", "File"),
        input("text", "same", "First"),
        input("text", "same", "Second"),
        { type: "__proto__" },
        { type: hostile },
        null,
        7,
        { type: "input", input_type: "password", name: "x", label: "x" },
      ],
      actions: [button("go", hostile), button("go", "Twice"), { type: "link", label: "x", action_id: "x" }],
      payload: JSON.parse('{"__proto__": {"a": 1}, "turn": 1}'),
      ...(action === "go" && { task: { id: "t", state: "failed", error: `It failed: ${hostile}` } }),
    }));
    await page.getByText("Choose a file").waitFor();
    assert.equal(await page.getByRole("textbox", { name: hostile }).inputValue(), "");
    await page.getByRole("textbox", { name: hostile }).fill("typed");
    await page.getByLabel("Second").fill("last");
    await page.getByLabel("File").setInputFiles(fileOf(`\u202Evsc.${hostile}`, "a"));
    await page.getByText(" · 1 bytes").waitFor();
    const [name = ""] = await page.locator(".drop").allInnerTexts();
    assert.doesNotMatch(name, /\u202E/);
    await page.getByRole("button", { name: hostile }).click();
    await page
      .getByRole("alert")
      .filter({ hasText: `It failed: ${hostile}` })
      .waitFor();
    const { inputs, payload } = sent.at(-1) ?? {};
    assert.deepEqual(Object.entries(inputs ?? {}).sort(), [
      ["constructor", "typed"],
      ["same", "last"],
      ["toString", btoa("a")],
    ]);
    assert.equal(JSON.stringify(payload), '{"__proto__":{"a":1},"turn":1}');
    assert.deepEqual(loaded, ["https://pictures.example/a.png", undefined]);
    assert.equal(await page.locator(".blocks img:visible").count(), 1);
    assert.deepEqual(await page.locator(".blocks :is(a, b, script, [onclick], [style])").count(), 0);
    assert.match(await page.title(), /Grandstand/);
    await assertFits(page);
    assert.deepEqual(faults, []);
  });

  it("takes files up to a size, by choice or by drop, and images by their content", async () => {
    const { page, faults, sent } = await open(() => ({
      blocks: [
        input("file", "csv", "Questions"),
        input("image", "logo", "Logo"),
        input("colour", "colour", "Colour"),
      ],
      actions: [button("go", "Start")],
    }));
    const mebibytes = async (count: number, head: string | Uint8Array = "") => {
      const path = join(folder, `${count}.csv`);
      await writeFile(path, head);
      await truncate(path, count * 1_048_576);
      return path;
    };
    const csv = page.getByLabel("Questions");
    await csv.setInputFiles(await mebibytes(11));
    await page.getByText("The file is larger than 10 MiB.").waitFor();
    assert.equal(await csv.getAttribute("aria-invalid"), "true");
    await csv.setInputFiles(await mebibytes(6));
    await page.getByText("6.csv · 6.0 MiB").waitFor();
    assert.equal(await page.getByText("larger than").count(), 0);
    const logo = page.getByLabel("Logo");
    await logo.setInputFiles(fileOf("logo.png", "<svg xmlns='http://www.w3.org/2000/svg'/>"));
    await page.getByText("no image of type PNG").waitFor();
    await logo.setInputFiles(await mebibytes(5, png));
    await page.getByText("at most 10 MiB together").waitFor();
    await assertAccessible(page);
    await page.getByRole("button", { name: "Remove" }).click();
    await focusIs(csv);
    await page.getByLabel("Colour").fill("#123456");
    await page.getByRole("button", { name: "Clear" }).click();
    await page.evaluate(() => {
      addEventListener("drop", event => document.body.classList.toggle("kept", event.defaultPrevented));
    });
    await dropFile(page, page.getByRole("button", { name: "Start" }), await mebibytes(1));
    assert.equal(await page.locator("body.kept").count(), 1);
    await dropFile(page, page.locator(".drop").first(), await mebibytes(1));
    await page.getByText("1.csv · 1.0 MiB").waitFor();
    await page.getByRole("button", { name: "Start" }).click();
    await until("the request is sent", () => sent.length === 2);
    assert.deepEqual(Object.entries(sent[1]?.inputs ?? {}), [["csv", encodeFile(new Uint8Array(1_048_576))]]);
    assert.deepEqual(faults, []);
  });
});
