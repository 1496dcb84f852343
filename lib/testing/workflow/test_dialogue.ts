/** Dialogues in unit tests of workflow backends. */

import { systemRandom } from "../../auth/crypto/mod.ts";
import type { MasterSecret } from "../../auth/mod.ts";
import { catalogueSpecPath } from "../../authoring/table/mod.ts";
import { type Logger, silentLogger, type Timer } from "../../http/mod.ts";
import type { Platform } from "../../platform/platform.ts";
import type { Store } from "../../storage/mod.ts";
import {
  canPress,
  Dialogue,
  type DialogueAnswer,
  type DialogueContext,
  type DialogueState,
  type DialogueTask,
  encodeFile,
  parseMarkup,
  type Recording,
  replayRecording,
  type WorkflowRequest,
} from "../../workflow/dialogue/mod.ts";
import { createTestTime, startAtDefault } from "../time.ts";
import { type Call, contextOf, homeOf, type Level, openWorld, type TenantIds, type World } from "../world.ts";

/** A backend under test: a workflow, or anything else that answers requests of the protocol. */
export interface TestedBackend {
  readonly fetch: (request: Request) => Promise<Response>;
}

type Events = Recording["events"][number];

interface Sent {
  readonly body: WorkflowRequest;
  readonly key: string;
}

/**
 * Opens a dialogue with a backend, over a platform in memory on which every user has a role. Nothing waits for real time: the clock
 * moves with `poll`, `advance` and `finish`.
 *
 * ```ts
 * const dialogue = await testDialogue(env => greeter(env));
 * await dialogue.start();
 * dialogue.fill({ name: "Ann" });
 * await dialogue.press("Greet");
 * dialogue.expectText("Hello Ann");
 * await dialogue.close();
 * ```
 *
 * @throws {TypeError} What `create` throws.
 */
export async function testDialogue(
  create: (environment: TestEnvironment) => TestedBackend,
  options: TestWorldOptions = {},
): Promise<TestDialogue> {
  const world = await openTestWorld(options);
  return new TestDialogue(world, create(world.environment), world.users[0] ?? "ann", null);
}

/** A dialogue of one user with a backend under test. */
export class TestDialogue {
  /** The platform that the backend asks. */
  readonly world: TestWorld;
  /** The last answer of the backend as it arrived. */
  lastAnswer: DialogueAnswer | null = null;
  readonly #backend: TestedBackend;
  readonly #user: string;
  readonly #dialogue: Dialogue;
  readonly #events: Events[] = [];
  #last: Sent | null;
  #token: string | null = null;
  #timer: { readonly at: number; readonly callback: () => void } | null = null;
  #onSettled: (() => void) | null = null;

  constructor(world: TestWorld, backend: TestedBackend, user: string, last: Sent | null) {
    this.world = world;
    this.#backend = backend;
    this.#user = user;
    this.#last = last;
    this.#dialogue = new Dialogue({
      context: world.dialogueContext,
      send: async (body, key) => {
        this.#last = { body, key };
        this.lastAnswer = await this.#send(this.#last);
        return this.lastAnswer;
      },
      refresh: async () => {
        this.#token = await world.tokenOf(user);
        return true;
      },
      onChange: ({ status }) => {
        if (status !== "sending") this.#onSettled?.();
      },
      onEvent: event => this.#events.push(event),
      clock: world.now,
      timer: (ms, callback) => {
        this.#timer = { at: world.now() + ms, callback };
        return () => {
          this.#timer = null;
        };
      },
    });
  }

  /** The dialogue as a frontend shows it. */
  get state(): DialogueState {
    return this.#dialogue.state;
  }

  /** All that is shown, as lines of text without markup. */
  get text(): string {
    return textOf(this.state);
  }

  /** Every event so far: a recording such as `workflow run --record` writes it. */
  get recording(): Recording {
    return { version: 1, events: [...this.#events] };
  }

  /** Opens the dialogue, or begins it anew. */
  async start(): Promise<void> {
    await this.#settle(() =>
      this.state.status === "idle" ? this.#dialogue.open() : this.#dialogue.restart(),
    );
  }

  /**
   * Fills inputs by name. Bytes are the contents of a file or image; null takes a value away.
   *
   * @throws {Error} The view has no such input, or it does not take the value.
   */
  fill(values: Readonly<Record<string, string | Uint8Array | null>>): void {
    for (const [name, value] of Object.entries(values)) {
      const names = this.state.blocks.flatMap(block => (block.type === "input" ? [block.name] : []));
      if (!names.includes(name)) throw this.#unexpected(`an input ${name} among: ${names.join(", ")}`);
      this.#dialogue.input(name, value instanceof Uint8Array ? encodeFile(value) : value);
      const fault = this.state.faults[name];
      if (fault !== undefined) throw this.#unexpected(`that ${name} takes the value: ${fault}`);
    }
  }

  /**
   * Presses a button by its label or action, and waits for the answer. Automatic actions follow.
   *
   * @throws {Error} There is no such button, or it cannot be pressed now.
   */
  async press(button: string): Promise<void> {
    const { actions, seq } = this.state;
    const action = actions.find(({ label, action_id }) => label === button || action_id === button);
    if (action === undefined || !canPress(this.state)) throw this.#unexpected(`the button ${button}`);
    await this.#settle(() => this.#dialogue.press(action.action_id, seq));
  }

  /** Sends the failed request again. */
  async retry(): Promise<void> {
    await this.#settle(() => this.#dialogue.retry());
  }

  /** Moves the clock to the next poll or repeated request, and waits for the answer. @throws {Error} None is due. */
  async poll(): Promise<void> {
    const timer = this.#timer;
    if (timer === null) throw this.#unexpected("that a poll is due");
    this.world.moveTo(timer.at);
    this.#timer = null;
    await this.#settle(timer.callback);
  }

  /** Moves the clock, with every poll that is due until then. */
  async advance(ms: number): Promise<void> {
    const until = this.world.now() + ms;
    while (this.#timer !== null && this.#timer.at <= until) await this.poll();
    this.world.moveTo(until);
  }

  /** Lets background work end, and polls until no task is running. @throws {Error} It does not end within so many polls. */
  async finish(pollsMax = 1_000): Promise<void> {
    for (let polls = 0; this.#timer !== null; polls++) {
      if (polls === pollsMax) throw this.#unexpected(`an end within ${pollsMax} polls`);
      await this.world.settled();
      await this.poll();
    }
  }

  /** Checks that a text is shown. @throws {Error} It is not. */
  expectText(expected: string | RegExp): void {
    const { text } = this;
    const isShown = typeof expected === "string" ? text.includes(expected) : expected.test(text);
    if (!isShown) throw this.#unexpected(String(expected));
  }

  /** Checks members of the task; null: there is none. @throws {Error} They are others. */
  expectTask(expected: Partial<DialogueTask> | null): void {
    const { task } = this.state;
    const entries = Object.entries(expected ?? {}) as [keyof DialogueTask, unknown][];
    const isAsExpected =
      (task === null) === (expected === null) && entries.every(([key, value]) => task?.[key] === value);
    if (!isAsExpected)
      throw this.#unexpected(`the task ${JSON.stringify(expected)}, not ${JSON.stringify(task)}`);
  }

  /** Sends the last request again under its key, as a frontend does whose answer was lost, and returns the answer. */
  async replayLast(): Promise<DialogueAnswer> {
    return await this.#send(this.#lastSent());
  }

  /** Sends the last request with a change under a new key, and returns the answer. The dialogue itself stays as it is. */
  async tamper(change: (request: WorkflowRequest) => unknown): Promise<DialogueAnswer> {
    const body = change(structuredClone(this.#lastSent().body)) as WorkflowRequest;
    return await this.#send({ body, key: crypto.randomUUID() });
  }

  /** Returns a dialogue of another user with the same backend. Its last request is that of this dialogue, as if it was stolen. */
  asUser(user: string): TestDialogue {
    return new TestDialogue(this.world, this.#backend, user, this.#last);
  }

  /**
   * Does again what a user did in a recording, and checks that the backend shows the same wherever no task was running. Ids of the
   * recording's context stand for those of this test.
   *
   * @throws {Error} The backend shows something else.
   */
  async replay(recording: Recording): Promise<void> {
    const states = replayRecording(recording);
    const opened = recording.events.find(event => event.type === "open");
    const ids = Object.entries(opened?.context ?? {});
    const own = this.world.context as Readonly<Record<string, string>>;
    const translated = (state: DialogueState): string =>
      ids.reduce((text, [name, id]) => text.replaceAll(id, own[name] ?? id), textOf(state));
    for (const [index, event] of recording.events.entries()) {
      const before = states[index - 1];
      const isUser = !["answered", "failed", "refreshed", "timer", "hidden"].includes(event.type);
      if (isUser && before !== undefined) await this.#expectSame(before, translated);
      if (event.type === "open" || event.type === "restart") await this.start();
      else if (event.type === "input") this.fill({ [event.name]: event.value });
      else if (event.type === "press") await this.press(event.action);
      else if (event.type === "retry") await this.retry();
    }
    const last = states.at(-1);
    if (last !== undefined) await this.#expectSame(last, translated);
  }

  /** Closes the dialogue and the platform. Background work of the backend is not waited for. */
  async close(): Promise<void> {
    this.#dialogue.close();
    await this.world.platform.close();
  }

  async #expectSame(recorded: DialogueState, translated: (state: DialogueState) => string): Promise<void> {
    if (!["showing", "ended", "error"].includes(recorded.status)) return;
    await this.finish();
    const expected = translated(recorded);
    if (this.text !== expected) throw this.#unexpected(`as recorded:\n${expected}`);
  }

  async #settle(act: () => void): Promise<void> {
    act();
    if (this.state.status === "sending") {
      await new Promise<void>(resolve => {
        this.#onSettled = resolve;
      });
      this.#onSettled = null;
    }
    // Background work of the backend goes on between polls, also where it waits for threads.
    await new Promise<void>(resolve => setTimeout(resolve, 0));
  }

  async #send({ body, key }: Sent): Promise<DialogueAnswer> {
    this.#token ??= await this.world.tokenOf(this.#user);
    const headers = {
      authorization: `Bearer ${this.#token}`,
      "content-type": "application/json",
      accept: "application/json",
      "idempotency-key": key,
    };
    const request = new Request("https://backend.test/", {
      method: "POST",
      headers,
      body: JSON.stringify(body),
    });
    const response = await this.#backend.fetch(request);
    return {
      status: response.status,
      retryAfter: response.headers.get("retry-after"),
      text: await response.text(),
    };
  }

  #lastSent(): Sent {
    if (this.#last === null) throw this.#unexpected("that a request was sent");
    return this.#last;
  }

  #unexpected(expected: string): Error {
    return new Error(`Expected ${expected}\nThe dialogue is ${this.state.status} and shows:\n${this.text}`);
  }
}

function textOf({ blocks, actions, problem, task }: DialogueState): string {
  const lines = blocks.map(block => {
    switch (block.type) {
      case "text":
        return [block.label, withoutMarkup(block.text)];
      case "alert":
        return [`${block.severity ?? "info"}:`, block.title, block.text];
      case "loader":
        return [block.text ?? "…"];
      case "image":
        return ["image", block.label, block.alt_text];
      case "colour":
        return ["colour", block.label, block.value];
      case "input":
        return [`${block.input_type} input`, block.label];
      default:
        return [`unknown block ${block.name}`];
    }
  });
  return [
    ...lines,
    ...actions.map(({ label }) => [`[${label}]`]),
    ...(task?.state === "running" ? [[`${task.progress ?? 0} %`]] : []),
    ...(problem === null ? [] : [["problem:", problem.message]]),
  ]
    .map(words => words.filter(word => word !== undefined).join(" "))
    .join("\n");
}

function withoutMarkup(text: string): string {
  return parseMarkup(text)
    .map(token => (token.type === "text" ? token.text : "\n"))
    .join("");
}

const url = "https://platform.test";
const endpoint = "https://backend.test";
const tokenMs = 600_000;

/** Role of a user of a test in the organisation. */
export type TestRole = "none" | "viewer" | "creator" | "admin";

/** Options of a test. */
export interface TestWorldOptions {
  /** Users by name, with their roles in the organisation. The first one begins. @default `{ann: "admin"}` */
  readonly users?: Readonly<Record<string, TestRole>>;
  /** Where the dialogue runs. @default "event" */
  readonly scope?: Level;
  /** Unix ms when the test begins. @default 2030-01-01 */
  readonly startAt?: number;
}

/** What a backend under test is created with. */
export interface TestEnvironment {
  /** Address of the control API. */
  readonly control: string;
  /** Address of the backend, for which the tokens of the test are issued. */
  readonly endpoint: string;
  /** Reaches the platform of the test and nothing else. */
  readonly fetch: typeof fetch;
  /** Master secret of the backend. */
  readonly secret: MasterSecret;
  readonly store: Store;
  /** Unix ms. It moves when the test says so. */
  readonly clock: () => number;
  readonly logger: Logger;
  /** Fires as the clock moves. */
  readonly timer: Timer;
  /** Takes the work that goes on after an answer; `finish` waits for it. */
  readonly waitUntil: (work: Promise<unknown>) => void;
}

/** The platform of a test. */
export interface TestWorld {
  readonly environment: TestEnvironment;
  readonly platform: Platform;
  readonly context: Required<DialogueContext>;
  /** The context of the dialogue: the ids down to its scope. */
  readonly dialogueContext: DialogueContext;
  readonly users: readonly string[];
  now(): number;
  moveTo(at: number): void;
  /** Creates a token such as backends get it: for one user, the scope of the dialogue, and 10 minutes. */
  tokenOf(user: string): Promise<string>;
  /** Resolves when no background work of the backend is under way. */
  settled(): Promise<void>;
  /** Calls the control API as an operator. */
  readonly api: Call;
}

export async function openTestWorld(options: TestWorldOptions = {}): Promise<TestWorld> {
  const { users = { ann: "admin" }, scope = "event", startAt = startAtDefault } = options;
  const { clock, timer, moveTo } = createTestTime(startAt);
  const world = await openWorld({ url, name: "Test", clock, random: systemRandom, hasEvent: false });
  const { platform, store, secret, operator } = world;
  const tenant = await withEvent(world);
  for (const [user, role] of Object.entries(users)) {
    if (role !== "none") await world.grant(emailOf(user), role, homeOf(tenant, "organisation"));
  }
  const background = new Set<Promise<unknown>>();
  return {
    environment: {
      control: url,
      endpoint,
      secret,
      store,
      clock,
      timer,
      logger: silentLogger,
      fetch: async (input, init) => await platform.fetch(new Request(input, init)),
      waitUntil(work) {
        const done = work.catch(() => {}).finally(() => background.delete(done));
        background.add(done);
      },
    },
    platform,
    api: operator,
    moveTo,
    now: clock,
    users: Object.keys(users),
    context: { baseURL: url, ...tenant },
    dialogueContext: { baseURL: url, ...contextOf(tenant, scope) },
    tokenOf: user =>
      world.tokenOf(emailOf(user), {
        home: homeOf(tenant, scope),
        ...(scope === "event" ? { eventId: tenant.eventId } : {}),
        audience: endpoint,
        expires: Math.floor((clock() + tokenMs) / 1_000),
      }),
    async settled() {
      while (background.size > 0) await Promise.all(background);
    },
  };
}

interface Created {
  readonly data: { readonly id: string };
}

async function withEvent({ operator, tenants: [tenant] }: World): Promise<TenantIds> {
  if (tenant === undefined) throw new Error("Cannot create an event without a tenant");
  const { spaceId, projectId } = tenant;
  const space = { data: { type: "spaces", id: spaceId } };
  const attributes = { spec_url: url + catalogueSpecPath };
  const app = await operator<Created>("/apps", {
    data: { type: "apps", attributes, relationships: { space } },
  });
  const named = { data: { type: "apps", id: app.data.id } };
  await operator(`/projects/${projectId}/relationships/app`, named, "PATCH");
  const project = { data: { type: "projects", id: projectId } };
  const event = { name: "Test", duration: 0, action: "start" };
  const created = await operator<Created>("/events", {
    data: { type: "events", attributes: event, relationships: { project } },
  });
  return { ...tenant, eventId: created.data.id };
}

function emailOf(user: string): string {
  return `${encodeURIComponent(user)}@test.example`;
}
