import { dialogueLimits, type WorkflowResponse } from "../dialogue/mod.ts";
import { type Answer, expects, type Fault, isOnce } from "./answer.ts";
import { countValues, each, inputNames, type Known, type Runs, withValue } from "./known.ts";
import type { Probe } from "./probe.ts";

const unknownActions = ["conformance-unknown", "__proto__", "constructor", "toString"];
const hostileTexts = [
  "",
  "<script>alert(1)</script><img src=x onerror=alert(1)>",
  "\u0000\u001b[31m\u202e'\"; DROP TABLE users; -- {{7*7}} %s %n",
  "\ud800☃".repeat(20_000),
];
const changesMax = 8;
const typedMarkup = "<strong>conformance</strong>";
const noBase64 = "%%% this is no Base64 %%%";
const svg = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIG9ubG9hZD0iYWxlcnQoMSkiLz4=";

/** Checks of dialogues: actions that are pressed twice, payloads that were altered, inputs of every kind, and tasks. */
export const dialogueChecks: Runs = {
  "dialogue.start": async ({ opened }) => [expects("a view", "the first request", opened)],
  "dialogue.press": async ({ pressed }) => [pressed && expects("a view", "a press", pressed)],
  "action.unknown": ({ probe }) =>
    each(unknownActions, async action => {
      const answer = await probe.press(await probe.view(), { action });
      return expects("a 4xx or a warning", `the action "${action}"`, answer);
    }),
  "action.repeated": ({ probe }) => pressTwice(probe, probe.key()),
  "action.twice": ({ probe }) => pressTwice(probe, {}),
  "action.parallel": async ({ probe, effects }) => {
    const view = await probe.view();
    const before = await probe.effects();
    const [a, b] = await Promise.all([probe.press(view), probe.press(view)]);
    const count = (await probe.effects(a, b)) - before;
    return [a.view === null ? isOnce(b, a) : isOnce(a, b), isWithin(effects, count)];
  },
  "action.older": async ({ probe }) => {
    const view = await probe.view();
    const first = probe.actionOf(view);
    const action = view.actions?.find(({ action_id }) => action_id !== first)?.action_id;
    const pressed = await probe.press(view);
    const answer = await probe.press(view, { action });
    return [expects("a 4xx or a warning", `"${action}" after "${first}"`, answer, pressed)];
  },
  "payload.altered": known =>
    changed(known, value => {
      if (typeof value !== "string") return typeof value === "number" ? value + 1 : !value;
      const middle = value.length >> 1;
      return `${value.slice(0, middle)}${value[middle] === "A" ? "B" : "A"}${value.slice(middle + 1)}`;
    }),
  "payload.truncated": async known => {
    const { probe } = known;
    const cut = await changed(known, value =>
      typeof value === "string" ? value.slice(0, value.length >> 1) : null,
    );
    const without = await probe.press(await probe.view(), { payload: null });
    return [...cut, expects("a 4xx or a warning", "a press without the payload of its view", without)];
  },
  "payload.other_user": async ({ probe }) => {
    const answer = await probe.press(await probe.view(), { by: colleague(probe) });
    return [expects("a 4xx or a warning", "the payload of another person", answer)];
  },
  "payload.other_context": async ({ probe }) => {
    const answer = await probe.press(await probe.view(), { by: elsewhere(probe) });
    return [expects("a 4xx or a warning", "the payload of another organisation", answer)];
  },
  "inputs.hostile": ({ probe, opened }) =>
    each(hostileTexts, async text => {
      const texts = inputNames(opened.view, ["text"]).map(name => [name, text]);
      const inputs = Object.fromEntries([...texts, ["no-such-input", text], ["x".repeat(999), ""]]);
      const answer = await probe.press(await probe.view(), { inputs });
      const request = `the text ${JSON.stringify(text.slice(0, 9))}`;
      return answer.view === null ? expects("a 4xx or a warning", request, answer) : null;
    }),
  "inputs.markup": async ({ probe, opened }) => {
    const inputs = Object.fromEntries(inputNames(opened.view, ["text"]).map(name => [name, typedMarkup]));
    const pressed = await probe.press(await probe.view(), { inputs });
    const blocks = [pressed, await probe.settle(pressed)].flatMap(({ view }) => view?.blocks ?? []);
    const isShown = blocks.some(block => block.type === "text" && block.text.includes(typedMarkup));
    return [isShown ? `a text block has the typed ${typedMarkup} as it is` : null];
  },
  "inputs.base64": known => wrongInput(known, noBase64, ["file", "image"]),
  "inputs.image": known => wrongInput(known, svg, ["image"]),
  "inputs.colour": known => wrongInput(known, "url(javascript:alert(1))", ["colour"]),
  "task.poll": async ({ settled }) => [settled && expects("a view", "a poll", settled)],
  "task.unknown": async ({ probe }) => {
    const view = { ...(await probe.view()), task: { id: "conformance-unknown", state: "running" as const } };
    return [expects("a 4xx or no task", "the id of no task", await probe.poll(view))];
  },
  "task.other_user": async ({ probe }) => await pollAs(probe, colleague(probe), "the task of another person"),
  "task.other_context": async ({ probe }) =>
    await pollAs(probe, elsewhere(probe), "a task of another organisation"),
  "task.final": async ({ probe, pressed }) => {
    const again = pressed?.view && (await probe.poll(pressed.view));
    return [again?.view?.task?.state === "running" ? "a poll after the end shows the task running" : null];
  },
};

function colleague({ options: { user, colleague: token = "" } }: Probe) {
  return { ...user, token };
}

function elsewhere({ options: { user, elsewhere: other = user } }: Probe) {
  return other;
}

/** Presses an action, and again once the first press has had its effects. */
async function pressTwice(probe: Probe, headers: Readonly<Record<string, string>>) {
  const view = await probe.view();
  const before = await probe.effects();
  const first = await probe.press(view, { headers });
  const once = (await probe.effects(first)) - before;
  const second = await probe.press(view, { headers });
  const twice = (await probe.effects(second)) - before;
  return [expects("a view", "the first press", first), isOnce(first, second), isWithin(once, twice)];
}

function isWithin(once: number, twice: number): string | null {
  return twice > once ? `two presses had ${twice} effects, and one has ${once}` : null;
}

/** Presses with one value of the payload changed after the other. */
async function changed({ probe, opened }: Known, change: (value: unknown) => unknown) {
  const count = Math.min(countValues(opened.view?.payload), changesMax);
  return await each([...Array(count).keys()], async index => {
    const view = await probe.view();
    const payload = withValue(view.payload ?? {}, index, change);
    const answer = await probe.press(view, { payload });
    return expects("a 4xx or a warning", `value ${index + 1} of the payload changed`, answer);
  });
}

async function wrongInput({ probe, opened }: Known, value: string, types: readonly string[]) {
  return await each(inputNames(opened.view, types), async name => {
    const answer = await probe.press(await probe.view(), { inputs: { [name]: value } });
    return expects("a 4xx or a warning", `the input "${name}"`, answer);
  });
}

/** Polls a fresh task as somebody else, with and without its payload. */
async function pollAs(probe: Probe, by: ReturnType<typeof colleague>, request: string) {
  const { view } = await probe.press(await probe.view());
  const { payload: _, ...bare } = view ?? ({} as WorkflowResponse);
  return await each(view === null ? [] : [bare, view], async one =>
    expects("a 4xx or no task", request, await probe.poll(one, { by })),
  );
}

export const answerChecks: Runs = {
  "answers.form": async ({ probe }) => formFaults(probe.answers, false),
  "answers.progress": async ({ probe }) => formFaults(probe.answers, true),
  "answers.rising": async ({ probe }) => {
    const highest = new Map<string, number>();
    return probe.polled.map(({ view }) => {
      const { id = "", progress = null } = view?.task ?? {};
      if (progress === null) return null;
      const before = highest.get(id) ?? 0;
      highest.set(id, Math.max(before, progress));
      return progress < before ? `progress fell from ${before} to ${progress}` : null;
    });
  },
  "answers.errors": async ({ probe }) =>
    probe.answers.map(({ status }) => (status >= 500 ? `an answer is ${status}` : null)),
  "answers.time": async ({ probe }) =>
    probe.answers.map(({ ms }) =>
      ms > dialogueLimits.answerMsMax ? `an answer took ${Math.round(ms / 1_000)} s` : null,
    ),
  "answers.problems": async ({ probe }) =>
    probe.answers.map(({ status, headers }) => {
      const type = headers.get("content-type") ?? "none";
      const isRefusal = status >= 400 && status < 500;
      return !isRefusal || type.startsWith("application/problem+json") ? null : `a ${status} of type ${type}`;
    }),
};

function formFaults(answers: readonly Answer[], isProgress: boolean): readonly Fault[] {
  const faults = answers.flatMap(answer => (answer.status === 200 ? answer.faults : []));
  return faults.filter(fault => fault.includes("/progress:") === isProgress);
}
