import type { WorkflowResponse } from "../dialogue/mod.ts";
import type { Answer, Fault } from "./answer.ts";
import type { Probe } from "./probe.ts";

export interface Known {
  readonly probe: Probe;
  readonly opened: Answer;
  readonly pressed: Answer | null;
  /** The answer behind the task that the action began. */
  readonly settled: Answer | null;
  readonly effects: number;
}

/** Checks by id. Each returns what is wrong. */
export type Runs = Readonly<Record<string, (known: Known) => Promise<readonly Fault[]>>>;

export async function each<T>(values: readonly T[], attempt: (value: T) => Promise<Fault>) {
  const faults: Fault[] = [];
  for (const value of values) faults.push(await attempt(value));
  return faults;
}

/** Returns why a check that needs something is skipped; null if it is there. */
export function lack(need: string, { probe, opened: { view }, pressed, settled }: Known): Fault {
  const first = "the first view";
  const known: Readonly<Record<string, readonly [isThere: boolean, otherwise: string]>> = {
    view: [view !== null, "the backend shows no first view"],
    action: [view !== null && probe.actionOf(view) !== undefined, `${first} has no action`],
    another: [(view?.actions ?? []).length > 1, `${first} has no other action`],
    payload: [countValues(view?.payload) > 0, `${first} has no payload`],
    task: [pressed?.view?.task?.state === "running", "the first action begins no task"],
    end: [settled?.view?.task?.state !== "running", "the task did not end in time"],
    levels: [Object.keys(probe.options.user.context).length > 1, "the context has one id alone"],
    text: [inputNames(view, ["text"]).length > 0, `${first} has no text input`],
    file: [inputNames(view, ["file", "image"]).length > 0, `${first} takes no file`],
    image: [inputNames(view, ["image"]).length > 0, `${first} takes no image`],
    colour: [inputNames(view, ["colour"]).length > 0, `${first} takes no colour`],
  };
  const [isThere, otherwise] = known[need] ?? [need in probe.options, `the fixture ${need} is not given`];
  return isThere ? null : otherwise;
}

export function inputNames(view: WorkflowResponse | null, types: readonly string[]): readonly string[] {
  return (view?.blocks ?? []).flatMap(block =>
    block.type === "input" && types.includes(block.input_type) ? [block.name] : [],
  );
}

type Payload = Readonly<Record<string, unknown>>;

export function countValues(value: unknown): number {
  if (typeof value !== "object") return value === undefined ? 0 : 1;
  return Object.values(value ?? {}).reduce<number>((sum, member) => sum + countValues(member), 0);
}

export function withValue(payload: Payload, index: number, change: (value: unknown) => unknown): Payload {
  let at = 0;
  const changed = JSON.stringify(payload, (_, value) =>
    typeof value === "object" || at++ !== index ? value : change(value),
  );
  return JSON.parse(changed) as Payload;
}
