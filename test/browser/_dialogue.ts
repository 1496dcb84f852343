/** Dialogues in pages of the studio, with a backend that a test plays. */

import assert from "node:assert/strict";
import type { Locator, Page } from "playwright-core";
import type { WorkflowRequest } from "../../lib/workflow/dialogue/mod.ts";
import type { StudioWorld } from "./_studio.ts";

/** A request as the page sends it to the relay. */
export interface SentRequest extends Omit<WorkflowRequest, "context"> {
  readonly scope: { readonly type: string; readonly id: string };
  readonly key: string | undefined;
}

/** An answer: the fields of a response with status 200, or a whole answer; null: the connection breaks. */
export type PlayedAnswer =
  | { readonly blocks: readonly unknown[]; readonly [field: string]: unknown }
  | { readonly status: number; readonly body?: string; readonly headers?: Readonly<Record<string, string>> }
  | null;

/** Registers a workflow and returns its id. */
export async function registerWorkflow(world: StudioWorld, name: string): Promise<string> {
  const attributes = { name, endpoint_url: "https://workflows.example/", availability: ["project"] };
  const { json } = await world.author("POST", "/workflows", { type: "workflows", attributes });
  return json.data.id;
}

/** Answers the dialogues of a page. */
export async function play(
  page: Page,
  answer: (request: SentRequest, turn: number) => PlayedAnswer | Promise<PlayedAnswer>,
): Promise<readonly SentRequest[]> {
  const sent: SentRequest[] = [];
  await page.route("**/dispatch", async route => {
    const { scope, request } = route.request().postDataJSON();
    const one = { scope, ...request, key: route.request().headers()["idempotency-key"] };
    const result = await answer(one, sent.push(one));
    if (result === null) return route.abort();
    const whole = "blocks" in result ? { status: 200, body: JSON.stringify(result) } : result;
    // The page may have left meanwhile.
    await route.fulfill({ contentType: "application/json", ...whole }).catch(() => undefined);
  });
  return sent;
}

/** Waits until the page's requests have arrived that it sent before. */
export function settle(page: Page): Promise<unknown> {
  return page.evaluate(() => fetch("/healthz"));
}

export const text = (value: string, label?: string) => ({ type: "text", text: value, label });
export const input = (type: string, name: string, label = name) => ({
  type: "input",
  input_type: type,
  name,
  label,
});
export const button = (id: string, label = id) => ({ type: "button", label, action_id: id });

/** A file to choose. */
export function fileOf(name: string, content: string | Uint8Array) {
  return { name, mimeType: "application/octet-stream", buffer: Buffer.from(content) };
}

/** Drops a file on an element. */
export async function dropFile(page: Page, target: Locator, path: string): Promise<void> {
  const { x, y } = (await target.boundingBox()) ?? assert.fail();
  const session = await page.context().newCDPSession(page);
  const data = { items: [], files: [path], dragOperationsMask: 1 };
  for (const type of ["dragEnter", "dragOver", "drop"] as const)
    await session.send("Input.dispatchDragEvent", { type, x: x + 5, y: y + 5, data });
}

/** Presses Tab until the element has the focus. */
export async function tabTo(page: Page, target: Locator): Promise<void> {
  await target.waitFor();
  for (let times = 0; times < 30; times++) {
    if (await target.evaluate(each => each === document.activeElement)) return;
    await page.keyboard.press("Tab");
  }
  assert.fail("Tab does not reach the element");
}

/** Asserts that an element has the focus. */
export async function focusIs(target: Locator): Promise<void> {
  assert.equal(await target.evaluate(each => each === document.activeElement), true);
}

/** Hides the page as a browser does, or shows it again. */
export function setHidden(page: Page, isHidden: boolean): Promise<void> {
  return page.evaluate(value => {
    Object.defineProperty(document, "hidden", { configurable: true, value });
    document.dispatchEvent(new Event("visibilitychange"));
  }, isHidden);
}
