/** A platform with a person of a role, and dialogues of that person with a workflow. */

import { silentLogger } from "../../../lib/http/mod.ts";
import type { WorkflowRequest, WorkflowResponse } from "../../../lib/workflow/dialogue/mod.ts";
import type { WorkflowOptions } from "../../../lib/workflow/mod.ts";
import { operatorHeaders, resource } from "../../http/_control_examples.ts";
import { ids, openPlatform, type TestPlatform } from "../../support/platform.ts";
import type { OpenStore } from "../../support/stores.ts";
import { createManualTimer, type ManualTimer } from "../../support/timer.ts";
import { WatchedStore } from "../../support/watched_store.ts";

export const controlUrl = "https://studio.example";
export const eventContext = { baseURL: controlUrl, projectId: ids.project, eventId: ids.event };
export const secret = "a secret for workflow tests, which is long enough";

export interface World {
  readonly world: TestPlatform;
  readonly store: WatchedStore;
  /** Requests to control APIs, as method and address. */
  readonly asked: string[];
  readonly timer: ManualTimer;
  readonly options: WorkflowOptions<never>;
  /** Lets the control API answer with an error. */
  failing: ((url: string) => Response | null) | null;
  /** Creates a person with a role in the project, and returns a token. */
  person(email: string, role?: string): Promise<string>;
  grant(email: string, role: string): Promise<string>;
  revoke(roleId: string): Promise<void>;
}

/** Opens the platform of a suite. */
export async function openWorld(
  open: OpenStore,
  platform: Parameters<typeof openPlatform>[1] = {},
): Promise<World> {
  const world = await openPlatform(open, platform);
  const store = new WatchedStore(world.store);
  const headers = await operatorHeaders(world);
  const asked: string[] = [];
  const timer = createManualTimer();
  const opened: World = {
    world,
    store,
    asked,
    timer,
    failing: null,
    options: {
      name: "test",
      secret,
      store,
      control: controlUrl,
      endpoint: "https://backend.example",
      require: { scope: ["project", "event"], role: "creator" },
      clock: world.clock.now,
      timer: timer.timer,
      logger: silentLogger,
      async fetch(url, init) {
        asked.push(`${init.method ?? "GET"} ${url}`);
        return opened.failing?.(url) ?? (await world.platform.fetch(new Request(url, init), {}));
      },
    },
    async person(email, role) {
      if (role !== undefined) await opened.grant(email, role);
      const user = await world.platform.authors.findOrCreate(email);
      return (await world.platform.authors.createToken({ userId: user.id, name: "Test" })).token;
    },
    async grant(email, role) {
      const path = `/api/v2/projects/${ids.project}/roles`;
      const made = await world.call(path, { headers, body: resource("scope_roles", { email, role }) });
      if (made.status !== 201) throw new Error(made.text);
      return made.json.data.id;
    },
    async revoke(roleId) {
      await world.call(`/api/v2/scope_roles/${roleId}`, { headers, method: "DELETE" });
    },
  };
  return opened;
}

/** An answer to a dialogue. */
export interface TurnAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly view: WorkflowResponse;
  readonly text: string;
  readonly texts: readonly string[];
}

/** Sends one request. */
export async function send(
  wf: { fetch(request: Request): Promise<Response> },
  body: unknown,
  {
    token,
    method = "POST",
    type = "application/json",
    headers = {},
  }: {
    readonly token?: string;
    readonly method?: string;
    readonly type?: string;
    readonly headers?: Readonly<Record<string, string>>;
  } = {},
): Promise<TurnAnswer> {
  const response = await wf.fetch(
    new Request("https://backend.example/hook", {
      method,
      headers: {
        ...(type === "" ? {} : { "content-type": type }),
        ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        ...headers,
      },
      ...(method === "GET" || method === "HEAD"
        ? {}
        : { body: typeof body === "string" ? body : JSON.stringify(body) }),
    }),
  );
  const text = await response.text();
  const view = response.headers.get("content-type")?.includes("json") ? JSON.parse(text) : undefined;
  const texts = (view?.blocks ?? []).map((block: { text?: string }) => block.text ?? "");
  return { status: response.status, headers: response.headers, view, text, texts };
}

/** A dialogue of a person: every request carries the payload of the last answer. */
export class TestTalk {
  readonly #wf: { fetch(request: Request): Promise<Response> };
  token: string;
  readonly #context: WorkflowRequest["context"];
  last: TurnAnswer | undefined;

  constructor(
    wf: { fetch(request: Request): Promise<Response> },
    token: string,
    context: WorkflowRequest["context"] = eventContext,
  ) {
    this.#wf = wf;
    this.token = token;
    this.#context = context;
  }

  get payload() {
    return this.last?.view.payload;
  }

  async send(body: Partial<WorkflowRequest>): Promise<TurnAnswer> {
    this.last = await send(this.#wf, { context: this.#context, ...body }, { token: this.token });
    return this.last;
  }

  start(): Promise<TurnAnswer> {
    return this.send({});
  }

  press(action: string, inputs: Readonly<Record<string, string>> = {}, payload = this.payload) {
    const taskId = this.last?.view.task?.state === "running" ? { taskId: this.last.view.task.id } : {};
    return this.send({ action, inputs, ...taskId, ...(payload === undefined ? {} : { payload }) });
  }

  poll(taskId = this.last?.view.task?.id ?? "") {
    return this.send({ taskId, ...(this.payload === undefined ? {} : { payload: this.payload }) });
  }
}
