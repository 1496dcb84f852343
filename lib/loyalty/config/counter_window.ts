import type { BucketUnit } from "../../calendar/mod.ts";
import type { Window } from "./document.ts";

/** What a counter looks back on. */
export type CounterWindow =
  | { readonly kind: "total" }
  | { readonly kind: "buckets"; readonly unit: BucketUnit; readonly last: number }
  | { readonly kind: "streak"; readonly unit: BucketUnit };

/** A window as counters keep it. */
export function toCounterWindow(window: Window | undefined): CounterWindow {
  if (window === undefined) return { kind: "total" };
  if ("calendar" in window) return { kind: "buckets", unit: window.calendar, last: 1 };
  return { kind: "buckets", unit: window.unit, last: window.last };
}
