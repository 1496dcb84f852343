/** One request to a handler, and what the handler asks for. */

import type { Fetch } from "../auth/remote_issuers/mod.ts";
import { type ControlClient, createControlClient } from "./api.ts";
import { loader, View } from "./blocks.ts";
import type { Block } from "./dialogue/mod.ts";
import type { Inputs } from "./inputs.ts";
import type { TaskDefinition } from "./task_runs.ts";
import type { Caller, DialogueRole, DialogueUser, VerifiedContext } from "./verify.ts";

/** A request to a handler: who asks from where, and what it can answer. */
export interface Turn<S> {
  readonly context: VerifiedContext;
  readonly user: DialogueUser;
  readonly role: DialogueRole;
  /** What the dialogue remembers. */
  readonly state: S;
  /** The control API with the rights of the user. */
  readonly api: ControlClient;
  /** Changes members of the state. */
  setState(changes: Partial<S>): this;
  /** Creates a view, which the handler returns. Without a button or auto action it ends the dialogue. */
  view(...blocks: readonly Block[]): View;
  /**
   * Creates a view under which a task runs. A loader among the blocks shows its progress; without one there is one at the end. The
   * argument is JSON, with `Uint8Array` for files; up to 7 MB of it are stored where a task is idempotent or has steps.
   */
  task(name: string, arg?: unknown, ...blocks: readonly Block[]): View;
  /** Cancels the running task. Its function learns it from its signal, or at its next progress. */
  cancelTask(): this;
}

type MaybePromise<T> = T | Promise<T>;
/** Answers a request. */
export type Handler<S, A extends readonly unknown[] = readonly []> = (
  c: Turn<S>,
  ...args: A
) => MaybePromise<View>;

export type AnyHandler = (c: Turn<never>, arg: never) => MaybePromise<View>;

export interface Handlers {
  start: AnyHandler | null;
  readonly actions: Map<string, { readonly inputs: Inputs; readonly handler: AnyHandler }>;
  readonly tasks: Map<string, TaskDefinition>;
  readonly done: Map<string, AnyHandler>;
  readonly fail: Map<string, AnyHandler>;
}

export class RecordedTurn implements Turn<never> {
  readonly context: VerifiedContext;
  readonly user: DialogueUser;
  readonly role: DialogueRole;
  readonly api: ControlClient;
  /** The state of the dialogue, with the changes of the handler. */
  state: never;
  cancelsTask = false;

  constructor({ context, user, role, token }: Caller, state: unknown, fetch: Fetch) {
    this.context = context;
    this.user = user;
    this.role = role;
    this.api = createControlClient({ baseURL: context.baseURL, fetch, token: () => token });
    this.state = state as never;
  }

  setState(changes: object): this {
    this.state = { ...(this.state as object), ...changes } as never;
    return this;
  }

  view(...blocks: readonly Block[]): View {
    return new View(blocks);
  }

  task(name: string, arg?: unknown, ...blocks: readonly Block[]): View {
    return new View(blocks.length === 0 ? [loader()] : blocks, { name, arg });
  }

  cancelTask(): this {
    this.cancelsTask = true;
    return this;
  }
}
