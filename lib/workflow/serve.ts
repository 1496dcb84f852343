/**
 * The way of a request: verified first, then an action, a poll or a first view, and an answer that is checked before it is sent.
 */

import { keyedTag, utf8, uuid } from "../auth/crypto/mod.ts";
import { bearerToken } from "../auth/tokens/mod.ts";
import { AppError } from "../base/errors/mod.ts";
import { present } from "../base/text/present.ts";
import type { ClientInfo } from "../http/mod.ts";
import { platformResponse } from "../http/replies/replies.ts";
import { readJson } from "../http/requests/body.ts";
import { alert, loader, View, type ViewContent, withAlert } from "./blocks.ts";
import {
  type Block,
  type DialogueTask,
  dialogueLimits,
  parseRequest,
  responseFaults,
  type WorkflowRequest,
  type WorkflowResponse,
} from "./dialogue/mod.ts";
import { readInputs } from "./inputs.ts";
import type { WorkflowPorts } from "./ports.ts";
import type { Replies } from "./replies.ts";
import { type Memory, payloadMsMax, sealedMember } from "./seal.ts";
import type { TaskDefinition, TaskRuns } from "./task_runs.ts";
import { isOfCaller, type TaskRecord, type Tasks, taskPartition } from "./tasks.ts";
import { type AnyHandler, type Handlers, RecordedTurn } from "./turn.ts";
import { type Caller, contextIds, type Verifier } from "./verify.ts";
import type { Views } from "./views.ts";

const bodyMsMax = 30_000;
/** Time after which a handler is logged as slow, in ms. */
const slowMs = 3_000;

interface WorkflowParts {
  readonly handlers: Handlers;
  /** Returns undefined where a state is not one of this version of the workflow. */
  readonly parseState: (state: unknown) => unknown;
  readonly verifier: Verifier;
  readonly views: Views;
  readonly tasks: Tasks;
  readonly runs: TaskRuns;
  readonly replies: Replies;
}

interface Answer {
  readonly content: ViewContent;
  /** What the payload remembers as shown, if not the content. */
  readonly remembered?: ViewContent;
  readonly state: unknown;
  readonly nonce: string;
  readonly task?: TaskRecord | null;
  /** A payload that is sent again as it is. */
  readonly sealed?: string | undefined;
}

interface Handled {
  readonly turn: RecordedTurn;
  readonly view: View;
  /** Names the view that comes, and with it what the handler starts. */
  readonly nonce: string;
  readonly seed: readonly string[];
  readonly runningId: string | null;
}

class TaskLimit extends Error {}

export class WorkflowServer {
  readonly #options: WorkflowPorts & WorkflowParts;

  constructor(options: WorkflowPorts & WorkflowParts) {
    this.#options = options;
  }

  /** Answers a request; errors become problem documents. */
  async fetch(request: Request, { createResponse = platformResponse }: ClientInfo): Promise<Response> {
    const { replies } = this.#options;
    try {
      const preflight = replies.preflight(request);
      return preflight ?? replies.json(request, await this.#answer(request), createResponse);
    } catch (error) {
      return replies.failure(request, error);
    }
  }

  async #answer(request: Request): Promise<string> {
    const token = bearerToken(request.headers.get("authorization"));
    const { timer, verifier, views } = this.#options;
    await verifier.verifyToken(token);
    const body = await readJson(request, {
      bytesMax: dialogueLimits.requestBytesMax,
      mediaTypes: ["application/json"],
      msMax: bodyMsMax,
      framed: true,
      timer,
    });
    const asked = parseRequest(body);
    const caller = await verifier.verify(token, asked.context);
    const sealed = asked.payload?.[sealedMember];
    const memory = sealed === undefined ? null : await views.open(caller, sealed);
    if (asked.action !== undefined) return await this.#act(caller, asked, asked.action, memory);
    if (asked.taskId !== undefined) return await this.#poll(caller, asked.taskId, memory, String(sealed));
    return await this.#start(caller);
  }

  /** Shows the first view, below a warning if the user asked for something else. */
  async #start(caller: Caller, warning?: string): Promise<string> {
    const { handlers, parseState, random } = this.#options;
    if (handlers.start === null) throw new TypeError("The workflow has no handler of the first view");
    const nonce = uuid(random);
    const handled = await this.#handle("start", handlers.start, caller, parseState({}));
    return await this.#show(caller, { ...handled, nonce, seed: [nonce], runningId: null }, warning);
  }

  /** Lets an action of a view take effect once. */
  async #act(caller: Caller, asked: WorkflowRequest, action: string, memory: Memory | null): Promise<string> {
    const { handlers, views, parseState, random } = this.#options;
    const state = memory === null ? undefined : parseState(memory.state);
    if (memory === null || state === undefined)
      return await this.#start(caller, "This dialogue has expired: please begin again");
    const { nonce, view } = memory;
    const isOffered = view.auto === action || view.actions.some(({ action_id }) => action_id === action);
    const definition = handlers.actions.get(action);
    if (!isOffered || definition === undefined)
      return await this.#showAgain(caller, memory, "This is not possible here any more");
    const labels = view.blocks.flatMap(each =>
      each.type === "input" ? [[each.name, each.label] as const] : [],
    );
    const inputs = readInputs(definition.inputs, asked.inputs ?? {}, new Map(labels));
    if ("faults" in inputs) return await this.#showAgain(caller, memory, inputs.faults.join(" · "));
    const reserved = await views.reserve(caller, nonce, action);
    if (reserved.kind === "busy") throw underWay();
    if (reserved.kind === "used")
      return await this.#repeat(caller, reserved.answer, reserved.action === action);
    try {
      const handled = await this.#handle(action, definition.handler, caller, state, inputs.values);
      const next = { ...handled, nonce: uuid(random), seed: [nonce, action], runningId: memory.taskId };
      const answer = await this.#show(caller, next);
      await views.use(caller, nonce, action, answer);
      return answer;
    } catch (error) {
      await views.release(caller, nonce, reserved.by).catch(() => {});
      if (error instanceof TaskLimit)
        return await this.#showAgain(caller, memory, "Too many tasks are running: wait until one has ended");
      throw error;
    }
  }

  /** Answers an action whose view was used: with the answer of then if it was the same. */
  async #repeat(caller: Caller, answer: string | null, isSame: boolean): Promise<string> {
    const warning = "This was already done";
    if (answer === null) return await this.#start(caller, warning);
    if (isSame) return answer;
    const shown: WorkflowResponse = JSON.parse(answer);
    return JSON.stringify({ ...shown, blocks: [alert("warning", warning), ...shown.blocks] });
  }

  /** Shows the view of a payload once more, below a warning. */
  async #showAgain(caller: Caller, { view, state, nonce, taskId }: Memory, warning: string): Promise<string> {
    const task = taskId === null ? null : await this.#runningTask(caller, taskId);
    const content = withAlert(view, "warning", warning);
    return await this.#compose(caller, { content, remembered: view, state, nonce, task });
  }

  /** Shows a task: its progress, or the view of its end. */
  async #poll(caller: Caller, id: string, memory: Memory | null, sealed: string): Promise<string> {
    const { tasks, runs, handlers, parseState, views, clock } = this.#options;
    let task = taskIdShape.test(id) ? await tasks.read(taskPartition(caller), id) : null;
    const definition = task === null ? undefined : handlers.tasks.get(task.name);
    if (task !== null && definition !== undefined && this.#isOwn(caller, task) && task.state === "running")
      task = await runs.advance(caller, task, definition);
    if (task === null || definition === undefined || !this.#isOwn(caller, task) || task.state === "cancelled")
      return JSON.stringify({ blocks: [alert("info", "This task does not exist any more")] });
    const own = memory?.taskId === id ? memory : null;
    if (task.state === "running") {
      const { view, state, nonce } = own ?? { view: noView, state: task.dialogue, nonce: `t-${id}` };
      const isFresh = own !== null && own.expiresAt - clock() > payloadMsMax / 2;
      // A used view must not outlive the note that it was used.
      const isEchoed = isFresh || (own !== null && (await views.isUsed(caller, nonce)));
      const echoed = isEchoed ? sealed : undefined;
      return await this.#compose(caller, { content: view, state, nonce, task, sealed: echoed });
    }
    const state = parseState(own?.state ?? task.dialogue) ?? parseState({});
    const [handler, arg] =
      task.state === "completed"
        ? [handlers.done.get(task.name) ?? showDone, task.result]
        : [handlers.fail.get(task.name) ?? showFailed, task.failure];
    const handled = await this.#handle(task.name, handler, caller, state, arg);
    return await this.#show(
      caller,
      { ...handled, nonce: `t-${id}`, seed: [id], runningId: null },
      undefined,
      task,
    );
  }

  async #handle(name: string, handler: AnyHandler, caller: Caller, state: unknown, arg?: unknown) {
    const { clock, logger, fetch } = this.#options;
    const turn = new RecordedTurn(caller, state, fetch);
    const began = clock();
    const view = await handler(turn, arg as never);
    const ms = clock() - began;
    if (ms > slowMs) logger.log("warn", "workflow_handler_slow", { handler: name, ms });
    if (view instanceof View) return { turn, view };
    throw new TypeError(`The handler of ${name} returned no view`);
  }

  async #show(
    caller: Caller,
    { turn, view, nonce, seed, runningId }: Handled,
    warning?: string,
    ended?: TaskRecord,
  ): Promise<string> {
    if (turn.cancelsTask && runningId !== null) await this.#cancel(caller, runningId);
    const begun = view.task === null ? null : await this.#begin(caller, view.task, turn.state, seed);
    const goesOn = begun === null && runningId !== null && !turn.cancelsTask && !view.isLast;
    const task = goesOn ? await this.#runningTask(caller, runningId) : (begun ?? ended ?? null);
    const remembered = view.content;
    const content = warning === undefined ? remembered : withAlert(remembered, "warning", warning);
    return await this.#compose(caller, { content, remembered, state: turn.state, nonce, task });
  }

  async #begin(
    caller: Caller,
    { name, arg }: { readonly name: string; readonly arg: unknown },
    state: unknown,
    seed: readonly string[],
  ): Promise<TaskRecord> {
    const { handlers, tasks, runs, clock } = this.#options;
    const definition = handlers.tasks.get(name);
    if (definition === undefined) throw new TypeError(`There is no task ${name}`);
    const now = clock();
    const isStep = definition.kind === "step";
    const task: TaskRecord = {
      // The same action of the same view begins the same task, also after a process died between task and answer.
      id: keyedTag(utf8(seed.join()), ["task", name]).slice(0, 22),
      workflow: this.#options.name,
      name,
      place: contextIds(caller.context),
      state: "running",
      progress: null,
      message: null,
      dialogue: state,
      argParts: 0,
      lease: isStep ? null : { holder: runs.holder(), until: now + definition.leaseMs, token: now },
      bearerAt: now,
    };
    const stored = definition.isResumable && arg !== undefined ? { value: arg } : null;
    const begun = await tasks.begin(taskPartition(caller), task, stored, each => this.#isInterrupted(each));
    if (begun === null) throw new TaskLimit();
    if (begun.isNew) runs.launch(caller, begun.task, definition, arg);
    return begun.task;
  }

  async #cancel(caller: Caller, id: string): Promise<void> {
    const { tasks, runs } = this.#options;
    await tasks.update(taskPartition(caller), id, () => ({ state: "cancelled" }));
    runs.abort(id);
  }

  async #runningTask(caller: Caller, id: string): Promise<TaskRecord | null> {
    const task = await this.#options.tasks.read(taskPartition(caller), id);
    return task?.state === "running" ? task : null;
  }

  #isOwn(caller: Caller, task: TaskRecord): boolean {
    return isOfCaller(task, this.#options.name, caller);
  }

  #isInterrupted({ name, workflow, lease }: TaskRecord): boolean {
    const isResumable =
      this.#options.handlers.tasks.get(name)?.isResumable ?? workflow !== this.#options.name;
    return !isResumable && lease !== null && lease.until <= this.#options.clock();
  }

  /** Makes the text of an answer, which must keep to the protocol. */
  async #compose(caller: Caller, answer: Answer): Promise<string> {
    const { clock, views, handlers } = this.#options;
    const { content, remembered = content, state, nonce, task = null } = answer;
    const running = task?.state === "running" ? task : null;
    const isOver = running === null && content.actions.length === 0 && content.auto === undefined;
    const memory = {
      nonce,
      state,
      view: remembered,
      taskId: running?.id ?? null,
      expiresAt: clock() + payloadMsMax,
    };
    const sealed = isOver ? undefined : (answer.sealed ?? (await views.seal(caller, memory)));
    const response: WorkflowResponse = present({
      blocks: [...(running === null ? content.blocks : withProgress(content.blocks, running))],
      actions: [...content.actions],
      autoAction: content.auto === undefined ? undefined : { action_id: content.auto },
      payload: sealed === undefined ? undefined : { [sealedMember]: sealed },
      task: task === null ? undefined : shownTask(task, handlers.tasks.get(task.name)),
    });
    const text = JSON.stringify(response);
    const isLong = text.length > dialogueLimits.answerBytesMax;
    const faults = isLong ? [{ pointer: "", detail: "It is too long" }] : responseFaults(response);
    if (faults.length === 0) return text;
    const reasons = faults.map(({ pointer, detail }) => `${pointer}: ${detail}`);
    throw new TypeError(`The view does not keep to the protocol: ${reasons.slice(0, 5).join("; ")}`);
  }
}

/** Ids of tasks: 132 bits in base64url. */
const taskIdShape = /^[\w-]{22}$/;
function underWay(): AppError {
  return new AppError("idempotency_conflict", "This action is under way: try again in a second", {
    headers: { "retry-after": "1" },
  });
}

/** The view of a running task whose own is not known. */
const noView: ViewContent = { blocks: [loader()], actions: [] };

/** Shows a completed task that has no handler. */
function showDone(): View {
  return new View([alert("success", "Done")]);
}

/** Shows a failed task that has no handler: frontends show its error. */
function showFailed(): View {
  return new View([]);
}

function shownTask(task: TaskRecord, definition: TaskDefinition | undefined): DialogueTask {
  const { id, state, progress, failure } = task;
  return present({
    id,
    state: state === "completed" || state === "failed" ? state : ("running" as const),
    progress: progress ?? undefined,
    pollIntervalMs: state === "running" ? definition?.pollMs : undefined,
    error: failure?.safeMessage,
  });
}

/** Returns the blocks of a running task's view with its message and progress in the first loader, which is added if there is none. */
function withProgress(
  blocks: readonly Block[],
  { message, progress }: { readonly message: string | null; readonly progress: number | null },
): readonly Block[] {
  const at = blocks.findIndex(({ type }) => type === "loader");
  const found = blocks[at] as ReturnType<typeof loader> | undefined;
  const shown = { ...loader(message ?? found?.text, progress ?? found?.progress) };
  return found === undefined ? [...blocks, shown] : blocks.with(at, shown);
}
