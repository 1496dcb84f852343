/**
 * A dialogue in the page.
 *
 * @module
 */

import { el } from "./elements.ts";

/** Options of {@linkcode openDialogue}. */
export interface DialogueViewOptions {
  /** Sends a request to the backend. Rejects where no answer arrives. */
  send(
    request: { readonly body: Readonly<Record<string, unknown>>; readonly key: string },
    signal: AbortSignal,
  ): Promise<{ readonly status: number; readonly retryAfter: string | null; readonly text: string }>;
}

/** Opens a dialogue in an element. */
export function openDialogue(root: HTMLElement, _options: DialogueViewOptions): { close(): void } {
  root.append(el("p", { class: "quiet" }, "Dialogues are not shown yet."));
  return { close: () => root.replaceChildren() };
}
