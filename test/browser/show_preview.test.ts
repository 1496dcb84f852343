/** The preview of the studio in Chromium: the fans' page in a frame that gets its contents by message. */

import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { build } from "esbuild";
import type { Frame, Page } from "playwright-core";
import type { PreviewProps } from "../../lib/pages/shared/page/preview_frame.tsx";
import { browserAvailable } from "../support/browser.ts";
import { ids } from "../support/platform.ts";
import { field, openShowWorld, question, type ShowWorld } from "./_show.ts";

/** Bundles the component with a function that draws it. */
async function hostScript(): Promise<string> {
  const contents = `
    import { h, render } from "preact";
    import { Preview } from "./preview_frame.tsx";
    const root = document.body.appendChild(document.createElement("div"));
    globalThis.showPreview = props => render(h(Preview, props), root);
  `;
  const resolveDir = fileURLToPath(new URL("../../lib/pages/shared/page", import.meta.url));
  const { outputFiles } = await build({
    stdin: { contents, resolveDir, loader: "tsx" },
    bundle: true,
    format: "esm",
    jsx: "automatic",
    jsxImportSource: "preact",
    write: false,
  });
  return outputFiles[0]?.text ?? "";
}

describe("the preview of the studio", { skip: browserAvailable() }, () => {
  let world: ShowWorld;
  let script: string;
  before(async () => {
    [world, script] = await Promise.all([openShowWorld(), hostScript()]);
  });
  after(() => world.dispose());

  const element = {
    id: "0e000000-0000-4000-8000-000000000001",
    attributes: {
      content_type: "quiz",
      state: "non_scheduled",
      ...question("In which year did it begin?", "1999", "2004"),
      correct_option: 2,
    },
  };

  /** Opens the studio with a preview in it. */
  async function preview(props: PreviewProps) {
    const { page, faults } = await world.open("");
    await page.route("**/studio/preview-host.js", route =>
      route.fulfill({ contentType: "text/javascript", body: script }),
    );
    await page.getByRole("heading").first().waitFor();
    await page.evaluate("import('/studio/preview-host.js')");
    const asked: string[] = [];
    page.on("request", request => {
      if (request.frame() !== page.mainFrame()) asked.push(new URL(request.url()).pathname);
    });
    await show(page, props);
    const found = await page.locator("iframe").elementHandle();
    const frame = (await found?.contentFrame()) as Frame;
    return { page, frame, faults, asked };
  }

  const show = (page: Page, props: PreviewProps): Promise<void> =>
    page.evaluate(
      given => (globalThis as unknown as { showPreview(of: PreviewProps): void }).showPreview(given),
      props,
    );

  it("shows a draft as fans will see it, follows what is typed and in which language, and asks for nothing", async () => {
    const { page, frame, faults, asked } = await preview({ event: world.event, element });
    const card = frame.getByRole("article", { name: "In which year did it begin?" });
    await card.getByRole("button", { name: "2004" }).click();
    await card.getByText("Counted").waitFor();
    assert.equal(await frame.locator(".live").count(), 0, "nobody sees a draft");
    assert.equal(await card.getByText("right answer").count(), 0, "the answer of a draft is not public");
    const typed = {
      question: {
        fields: [field("question", "When?", { de: "Wann?" })],
        options: element.attributes.question.options,
      },
    };
    await show(page, { event: world.event, element, draft: typed, locale: "de" });
    await frame.getByRole("heading", { name: "Wann?" }).waitFor();
    await show(page, { event: world.event, element, draft: typed });
    await frame.getByRole("heading", { name: "When?" }).waitFor();
    const onAir = { ...element, attributes: { ...element.attributes, state: "current" } };
    await show(page, { event: world.event, element: onAir });
    await frame.locator(".live").waitFor();
    assert.ok(asked.length > 0);
    assert.deepEqual(
      asked.filter(path => !/^\/show(\/|$)/.test(path)),
      [],
    );
    assert.deepEqual(faults, []);
  });

  it("shows the results and the answer of a published element, and settings that are not saved", async () => {
    const published = {
      ...element,
      attributes: {
        ...element.attributes,
        state: "past",
        published_at: 1_750_000_000,
        answer_revealed_at_iso: "2025-06-15T15:06:40.000Z",
      },
    };
    const settings = { colours: { accent: "#0b6e4f", ground: "#fffaf5", ink: "#231815" }, font: "serif" };
    const { frame } = await preview({
      project: ids.project,
      element: published,
      votes: [1, 3],
      settings,
    });
    const card = frame.getByRole("article");
    await card.getByText("right answer").waitFor();
    await card.getByText("75%").waitFor();
    const root = frame.locator("html");
    assert.equal(await root.getAttribute("data-font"), "serif");
    assert.match((await root.getAttribute("style")) ?? "", /--accent: #0b6e4f/);
  });

  it("cannot read the studio's token, and can connect to nothing", async () => {
    const { page, frame } = await preview({ event: world.event, element });
    await frame.getByRole("article").waitFor();
    assert.equal(
      await page.evaluate(key => sessionStorage.getItem(key), `token of ${world.url}`),
      world.token,
    );
    const refused = await frame.evaluate(`(async () => {
      const nameOf = async act => {
        try {
          await act();
          return "allowed";
        } catch (error) {
          return error.name;
        }
      };
      return {
        own: await nameOf(() => sessionStorage.length),
        studio: await nameOf(() => parent.sessionStorage.length),
        page: await nameOf(() => parent.document.body),
        call: await nameOf(() => fetch("/api/v2/me")),
      };
    })()`);
    assert.deepEqual(refused, {
      own: "SecurityError",
      studio: "SecurityError",
      page: "SecurityError",
      call: "TypeError",
    });
  });

  it("has no origin either where somebody opens it beside the studio", async () => {
    const { page } = await world.visit(`?event=${world.event}&preview=1`);
    assert.equal(await page.evaluate(() => self.origin), "null");
  });
});
