/** States of events and elements, in words. */

import { el, setAttribute, setText } from "./elements.ts";

const names: Readonly<Record<string, string>> = {
  ...{ current: "Live", future: "Planned", on_demand: "On demand", past: "Ended" },
  ...{ non_scheduled: "Draft", cancelled: "Cancelled", revoked: "Revoked" },
};

export function createState(): { readonly element: HTMLElement; show(state: string): void } {
  const element = el("span", { class: "state" });
  return {
    element,
    show(state) {
      setText(element, names[state] ?? state);
      setAttribute(element, "data-state", state);
    },
  };
}
