/**
 * The builder of backends for the workflow protocol.
 *
 * ```ts
 * const wf = workflow({ name: "greet", secret, store, control: "https://studio.example", endpoint: "https://greet.example", require: { scope: ["event"], role: "creator" } })
 *   .start(c => c.view(text`Hello ${c.user.name}`, input.text("name", "Name")).button("go", "Go"))
 *   .on("go", { inputs: { name: textInput() } }, (c, { name }) => c.view(alert("success", `Done, ${name}`)).end());
 * export default { fetch: wf.fetch };
 * ```
 */

import * as v from "valibot";
import { systemClock, systemRandom } from "../auth/crypto/mod.ts";
import { MasterSecret } from "../auth/mod.ts";
import { consoleLogger } from "../http/logger.ts";
import type { ClientInfo } from "../http/mod.ts";
import { systemTimer } from "../storage/background/mod.ts";
import type { Store } from "../storage/mod.ts";
import type { Inputs, InputValues } from "./inputs.ts";
import type { WorkflowPorts } from "./ports.ts";
import { Replies } from "./replies.ts";
import { Seals } from "./seal.ts";
import { WorkflowServer } from "./serve.ts";
import { type StepOutcome, type TaskOptions, type TaskRun, TaskRuns } from "./task_runs.ts";
import { type TaskFailure, Tasks } from "./tasks.ts";
import type { AnyHandler, Handler, Handlers } from "./turn.ts";
import { type Requirement, Verifier } from "./verify.ts";
import { Views } from "./views.ts";

const leaseMsDefault = 60_000;
const pollMsDefault = 2_000;

/** Options of {@linkcode workflow}. */
export interface WorkflowOptions<S> extends Partial<WorkflowPorts> {
  /** Names the workflow: payloads and tasks of one are unknown to another. */
  readonly name: string;
  /** Keeps views that were used and tasks. */
  readonly store: Store;
  /** Secret for payloads, the same in all processes. Several rotate it: the first seals, all open. */
  readonly secret: string | MasterSecret | readonly (string | MasterSecret)[];
  /** Address of the platform whose control API answers for callers; a request that names another is refused. */
  readonly control: string | readonly string[];
  /**
   * Addresses under which producers reach this backend: the `endpoint_url` of the workflow, and what `workflow run` is given. Tokens of
   * dialogues are issued for one backend; one for another address is refused.
   */
  readonly endpoint: string | readonly string[];
  readonly require: Requirement;
  /** State of a dialogue. It must accept `{}`, with which a dialogue begins. @default any object */
  readonly state?: v.GenericSchema<unknown, S>;
  /** Web origins that may call directly. @default none: the platform's relay needs no CORS */
  readonly origins?: readonly string[];
}

/**
 * Creates a workflow.
 *
 * @throws {TypeError} A control address or endpoint is unusable, or the state does not accept `{}`.
 * @throws {RangeError} A secret is too weak.
 */
export function workflow<S extends object = Record<string, never>>(options: WorkflowOptions<S>): Workflow<S> {
  return new Workflow(options);
}

/** A backend of the workflow protocol. Every method but `fetch` returns the workflow itself. */
export class Workflow<S extends object> {
  readonly #handlers: Handlers = {
    start: null,
    actions: new Map(),
    tasks: new Map(),
    done: new Map(),
    fail: new Map(),
  };
  /** Answers requests of the protocol, under whatever path it is mounted. It never rejects. */
  readonly fetch: (request: Request, info?: ClientInfo) => Promise<Response>;

  constructor(options: WorkflowOptions<S>) {
    const { origins = [], secret, control, endpoint, require, state, ...given } = options;
    const ports: WorkflowPorts = {
      clock: systemClock,
      random: systemRandom,
      timer: systemTimer,
      logger: consoleLogger,
      waitUntil: () => {},
      // The global one is looked up at each call, so that it can be replaced.
      fetch: (url, init) => globalThis.fetch(url, init),
      ...given,
    };
    const secrets = [secret].flat().map(each => (typeof each === "string" ? new MasterSecret(each) : each));
    const seals = new Seals(secrets, ports);
    const tasks = new Tasks(ports);
    const server = new WorkflowServer({
      ...ports,
      handlers: this.#handlers,
      parseState: stateParser(state),
      verifier: new Verifier({ control: [control].flat(), endpoint: [endpoint].flat(), require }, ports),
      views: new Views(ports, seals),
      tasks,
      runs: new TaskRuns(ports, tasks, seals),
      replies: new Replies(ports, origins),
    });
    this.fetch = (request, info = {}) => server.fetch(request, info);
  }

  /** Sets the handler of the first view. It should change nothing: a first request may come again. */
  start(handler: Handler<S>): this {
    this.#handlers.start = handler as AnyHandler;
    return this;
  }

  /**
   * Sets the handler of an action. It takes effect once for each view, however often it is sent; the time for it is 60 s, and longer work
   * belongs in a task. If it throws, the user may send it again.
   */
  on(action: string, handler: Handler<S>): this;
  /** Sets the handler of an action with inputs. Values that do not fit are shown to the user with the same view. */
  on<I extends Inputs>(
    action: string,
    options: { readonly inputs: I },
    handler: Handler<S, readonly [InputValues<I>]>,
  ): this;
  on(action: string, first: unknown, second?: unknown): this {
    const { inputs } = second === undefined ? { inputs: {} } : (first as { readonly inputs: Inputs });
    define(this.#handlers.actions, action, { inputs, handler: (second ?? first) as AnyHandler });
    return this;
  }

  /** Defines work that a process does as a whole. */
  task<A, R>(name: string, options: TaskOptions, run: (run: TaskRun<S>, arg: A) => Promise<R>): this {
    const isResumable = options.idempotent ?? false;
    define(this.#handlers.tasks, name, { kind: "task", isResumable, run, ...timesOf(options) });
    return this;
  }

  /**
   * Defines work in steps, of which each poll does one: it needs no process beside the requests. A step whose process died is done
   * again from the same cursor. The first step has no cursor.
   */
  step<A, C, R>(
    name: string,
    options: Omit<TaskOptions, "idempotent">,
    run: (run: TaskRun<S>, arg: A, cursor: C | undefined) => Promise<StepOutcome<C, R>>,
  ): this {
    define(this.#handlers.tasks, name, { kind: "step", isResumable: true, run, ...timesOf(options) });
    return this;
  }

  /** Sets the view of a task that has ended. It should change nothing: a poll may come again. */
  done<R>(name: string, handler: Handler<S, readonly [R]>): this {
    define(this.#handlers.done, name, handler as AnyHandler);
    return this;
  }

  /** Sets the view of a task that has failed. */
  fail(name: string, handler: Handler<S, readonly [TaskFailure]>): this {
    define(this.#handlers.fail, name, handler as AnyHandler);
    return this;
  }
}

function define<T>(map: Map<string, T>, name: string, value: T): void {
  if (map.has(name)) throw new TypeError(`Cannot define ${name} twice`);
  map.set(name, value);
}

function timesOf({ poll = pollMsDefault, lease = leaseMsDefault }: TaskOptions) {
  return { pollMs: poll, leaseMs: lease };
}

/** Returns a function that checks a state; undefined where the schema does not accept it any more. */
function stateParser<S>(schema: v.GenericSchema<unknown, S> | undefined): (state: unknown) => S | undefined {
  if (schema === undefined) return state => state as S;
  if (!v.safeParse(schema, {}).success)
    throw new TypeError("Cannot create the workflow: its state must accept {}");
  return state => {
    const result = v.safeParse(schema, state);
    return result.success ? result.output : undefined;
  };
}
