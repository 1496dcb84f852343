import type { WorkflowResponse } from "../../dialogue/mod.ts";
import type { Answer, Fault } from "./answer.ts";
import type { Probe } from "./probe.ts";

/** What is known of a backend before its checks. */
export interface Known {
  readonly probe: Probe;
  /** The answer that opens a dialogue. */
  readonly opened: Answer;
  /** The answer to its first action. */
  readonly pressed: Answer | null;
  /** The answer behind the task that the action began. */
  readonly settled: Answer | null;
  /** The effects of one press. */
  readonly effects: number;
}

/** Checks by id. Each returns what is wrong. */
export type Runs = Readonly<Record<string, (known: Known) => Promise<readonly Fault[]>>>;

/** Tries one value after the other. */
export async function each<T>(values: readonly T[], attempt: (value: T) => Promise<Fault>) {
  const faults: Fault[] = [];
  for (const value of values) faults.push(await attempt(value));
  return faults;
}

/** Returns why a check that needs something is skipped; null if it is there. */
export function lack(need: string, { probe, opened: { view }, pressed, settled }: Known): Fault {
  switch (need) {
    case "view":
      return view === null ? "the backend shows no first view" : null;
    case "action":
      return view !== null && probe.actionOf(view) !== undefined ? null : "the first view has no action";
    case "another":
      return (view?.actions ?? []).length > 1 ? null : "the first view has no other action";
    case "payload":
      return leavesOf(view?.payload).length > 0 ? null : "the first view has no payload";
    case "task":
      return pressed?.view?.task?.state === "running" ? null : "the first action begins no task";
    case "end":
      return settled?.view?.task?.state === "running" ? "the task did not end in time" : null;
    case "text":
    case "image":
    case "colour":
      return inputNames(view, [need]).length > 0 ? null : `the first view has no input of type ${need}`;
    case "file":
      return inputNames(view, [need, "image"]).length > 0 ? null : "the first view takes no file";
    default:
      return need in probe.options ? null : `the fixture ${need} is not given`;
  }
}

/** Returns the names of the inputs of some types in a view. */
export function inputNames(view: WorkflowResponse | null, types: readonly string[]): readonly string[] {
  return (view?.blocks ?? []).flatMap(block =>
    block.type === "input" && types.includes(block.input_type) ? [block.name] : [],
  );
}

/** Most values of a payload that are changed. */
const leavesMax = 8;

/** A value inside a payload. */
interface Leaf {
  readonly value: string | number | boolean;
  /** Returns the payload with another value in its place. */
  readonly put: (value: unknown) => Readonly<Record<string, unknown>>;
}

/** Returns the texts, numbers and booleans in a payload. */
export function leavesOf(payload: Readonly<Record<string, unknown>> | undefined): readonly Leaf[] {
  const found: Leaf[] = [];
  function visit(value: unknown, put: (value: unknown) => unknown): void {
    if (typeof value === "object" && value !== null) {
      for (const [key, member] of Object.entries(value)) {
        visit(member, other =>
          put(Array.isArray(value) ? value.with(Number(key), other) : { ...value, [key]: other }),
        );
      }
    } else if (value !== null && value !== undefined && found.length < leavesMax) {
      found.push({ value: value as Leaf["value"], put: put as Leaf["put"] });
    }
  }
  visit(payload, other => other);
  return found;
}
