/** A backend without the SDK that does everything right, unless it has a fault. */

import { createHmac, randomUUID } from "node:crypto";

/** The faults that the backend can have, each with the check that has to find it. */
export const faults = {
  "opens dialogues by GET": "transport.methods",
  "fails on bodies that are no JSON": "transport.json",
  "takes arrays for requests": "transport.json",
  "fails on fields of wrong types": "transport.types",
  "refuses unknown fields": "transport.unknown_fields",
  "reads bodies of any size": "transport.size",
  "reads bodies of any type": "transport.media_type",
  "verifies nobody": "authentication.missing",
  "takes any bearer": "authentication.unknown",
  "takes expired bearers": "authentication.expired",
  "verifies the first request alone": "authentication.presses",
  "sends no challenge": "authentication.challenge",
  "asks the control API that the request names": "base_url.foreign",
  "compares the beginning of baseURL": "base_url.foreign",
  "asks a foreign control API and refuses afterwards": "base_url.foreign",
  "accepts another organisation's project": "context.foreign",
  "verifies the first context alone": "context.foreign",
  "looks at the role in the project alone": "context.mixed",
  "asks for roles and not for parents": "context.parents",
  "puts ids into paths as they are": "context.ids",
  "opens with 201": "dialogue.start",
  "answers presses with 204": "dialogue.press",
  "takes every action": "action.unknown",
  "looks actions up in an object": "action.unknown",
  "doubles a repeated press": "action.repeated",
  "doubles the effects of a repeated press in silence": "action.repeated",
  "knows a press by its Idempotency-Key alone": "action.twice",
  "looks before it reserves": "action.parallel",
  "lets a view be used for each action": "action.older",
  "trusts an altered payload": "payload.altered",
  "trusts a missing payload": "payload.truncated",
  "takes the payload of another user": "payload.other_user",
  "takes the payload of another context": "payload.other_context",
  "fails on long texts": "inputs.hostile",
  "shows typed markup": "inputs.markup",
  "decodes Base64 leniently": "inputs.base64",
  "takes SVG for an image": "inputs.image",
  "takes any colour": "inputs.colour",
  "answers polls with 404": "task.poll",
  "fails on unknown tasks": "task.unknown",
  "shows another user's task": "task.other_user",
  "shows a task in another context": "task.other_context",
  "begins a task anew after its end": "task.final",
  "answers 200 with HTML": "answers.form",
  "answers without blocks": "answers.form",
  "has progress 140": "answers.progress",
  "lets progress fall": "answers.rising",
  "fails at the end of a task": "answers.errors",
  "answers after 31 s": "answers.time",
  "never answers a poll": "answers.time",
  "refuses in plain text": "answers.problems",
} as const;

/** A fault of the backend. */
export type BackendFault = keyof typeof faults;

/** The surroundings of the backend. */
interface BackendOptions {
  readonly control: string;
  readonly expiredToken: string;
  /** Reaches every control API, the foreign one too. */
  readonly fetch: (request: Request) => Promise<Response>;
  readonly fault?: BackendFault | undefined;
  /** Lets time pass. */
  readonly advance?: (ms: number) => void;
}

// biome-ignore lint/suspicious/noExplicitAny: requests of every form.
type Any = any;

interface Task {
  readonly id: string;
  readonly user: string;
  readonly context: string;
  polls: number;
}

/** A refusal, or the marker of an answer that is made otherwise. */
class Refusal extends Error {
  readonly status: number;

  constructor(status: number, title: string) {
    super(title);
    this.status = status;
  }
}

const sizeMax = 15_000_000;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;
const levels = ["eventId", "projectId", "spaceId", "organisationId"] as const;
const inputs = [
  { type: "input", input_type: "text", name: "title", label: "Title" },
  { type: "input", input_type: "file", name: "csv", label: "CSV" },
  { type: "input", input_type: "image", name: "logo", label: "Logo" },
  { type: "input", input_type: "colour", name: "tint", label: "Tint" },
];
const actions = [
  { type: "button", action_id: "go", label: "Go" },
  { type: "button", action_id: "skip", label: "Skip" },
];

/** Opens the backend. */
export function openBackend({ control, expiredToken, fetch, fault, advance = () => {} }: BackendOptions) {
  const has = (name: BackendFault): boolean => fault === name;
  const tasks = new Map<string, Task>();
  const used = new Map<string, Any>();

  async function answer(request: Request): Promise<Any> {
    const { method, headers } = request;
    if (method !== "POST" && !(has("opens dialogues by GET") && method === "GET")) {
      throw new Refusal(405, "Only POST is served");
    }
    const verifies = !has("verifies nobody");
    const bearer = headers.get("authorization");
    const mustVerify = verifies && !has("verifies the first request alone");
    if (bearer === null && mustVerify) throw new Refusal(401, "A bearer is required");
    const type = headers.get("content-type") ?? "";
    if (!type.startsWith("application/json") && !has("reads bodies of any type"))
      throw new Refusal(415, "JSON is required");
    const text = await request.text();
    if (text.length > sizeMax && !has("reads bodies of any size"))
      throw new Refusal(413, "The body is too large");
    const asked = parse(text);
    if (method === "GET") return start({}, "nobody");
    check(asked);
    const { context, action, taskId } = asked;
    const isFirst = action === undefined && taskId === undefined;
    const user = verifies && (isFirst || mustVerify) ? await verify(bearer, context, isFirst) : "nobody";
    if (action !== undefined) return await press(asked, user, headers);
    return taskId === undefined ? start(context, user) : await poll(context, taskId, user);
  }

  function parse(text: string): Any {
    try {
      return JSON.parse(text);
    } catch (error) {
      if (has("fails on bodies that are no JSON")) throw error;
      if (has("opens dialogues by GET")) return {};
      throw new Refusal(400, "The body is no JSON");
    }
  }

  function check(asked: Any): void {
    if (has("fails on fields of wrong types") && typeof asked?.payload === "string")
      throw new Error("no object");
    if (has("takes arrays for requests") && Array.isArray(asked)) throw new Refusal(200, "an empty view");
    const isObject = (value: unknown): boolean =>
      typeof value === "object" && value !== null && !Array.isArray(value);
    const isGood =
      isObject(asked) &&
      isObject(asked.context) &&
      levels.every(level => /^(undefined|string)$/.test(typeof asked.context[level])) &&
      [asked.action, asked.taskId].every(value => /^(undefined|string)$/.test(typeof value)) &&
      [asked.inputs ?? {}, asked.payload ?? {}].every(isObject) &&
      Object.values(asked.inputs ?? {}).every(value => typeof value === "string");
    if (!isGood) throw new Refusal(400, "A field has a wrong type");
    if (has("refuses unknown fields") && "version" in asked) throw new Refusal(400, "There is no such field");
  }

  async function verify(bearer: string | null, context: Any, isFirst: boolean): Promise<string> {
    const isForeign = context.baseURL !== control;
    const asksForeign =
      has("asks the control API that the request names") ||
      has("asks a foreign control API and refuses afterwards");
    const seemsOwn = has("compares the beginning of baseURL") && context.baseURL.startsWith(control);
    if (isForeign && !asksForeign && !seemsOwn) throw new Refusal(403, "This control API is not asked");
    const isOld = bearer === `Bearer ${expiredToken}` && has("takes expired bearers");
    const ask = async (path: string): Promise<Any> => {
      const base = isForeign ? context.baseURL : control;
      const response = await fetch(
        new Request(new URL(`${base}/api/v2${path}`.replace(/\/\/[^/]*@/, "//")), {
          headers: { authorization: bearer ?? "" },
        }),
      );
      return response.ok ? await response.json() : null;
    };
    const me = await ask("/me").catch(() => null);
    if (me === null && isOld) return "old";
    if (me === null && !has("takes any bearer")) throw new Refusal(401, "The bearer is not valid");
    if (has("asks a foreign control API and refuses afterwards") && isForeign)
      throw new Refusal(403, "This control API is not asked");
    if (
      has("accepts another organisation's project") ||
      (has("verifies the first context alone") && !isFirst)
    )
      return me.data.id;
    const known = levels.filter(level => context[level] !== undefined);
    if (!has("puts ids into paths as they are") && !known.every(level => uuid.test(context[level]))) {
      throw new Refusal(400, "An id is no UUID");
    }
    const [lowest] = has("looks at the role in the project alone") ? ["projectId" as const] : known;
    const role = await roleIn(ask, lowest ?? "projectId", context);
    if (!/^(creator|admin)$/.test(role?.attributes.role)) throw new Refusal(403, "You have no role there");
    const parents: string[] = role.meta.parents.map(({ id }: { id: string }) => id);
    const others = known.filter(
      level => level !== lowest && !(level === "eventId" && lowest === "projectId"),
    );
    const isChain = others.every(level => parents.includes(context[level]));
    if (!isChain && !has("asks for roles and not for parents"))
      throw new Refusal(403, "These ids do not belong together");
    if (!isChain && others.some(level => level === "projectId")) {
      const other = await roleIn(ask, "projectId", context);
      if (!/^(creator|admin)$/.test(other?.attributes.role)) throw new Refusal(403, "You have no role there");
    }
    return me.data.id;
  }

  async function roleIn(
    ask: (path: string) => Promise<Any>,
    level: (typeof levels)[number],
    context: Any,
  ): Promise<Any> {
    const id = context[level];
    if (level === "eventId")
      return (await ask(`/events/${id}?include=my_role`))?.included?.find(
        ({ type }: Any) => type === "scope_roles",
      );
    const answered = await ask(`/${level.slice(0, -2)}s/${id}/my_role`);
    return answered === null ? null : { attributes: answered.data.attributes, meta: answered.meta };
  }

  const contextText = (context: Any): string => levels.map(level => context[level] ?? "").join(" ");
  const sign = (text: string): string => createHmac("sha256", "key").update(text).digest("base64url");

  function view(context: Any, user: string, more: object) {
    const state = JSON.stringify({ nonce: randomUUID(), user, context: contextText(context) });
    return { payload: { state, mac: sign(state) }, ...more };
  }

  function start(context: Any, user: string) {
    return view(context, user, { blocks: [{ type: "text", text: "Hello" }, ...inputs], actions });
  }

  function warn(context: Any, user: string, text: string) {
    return { ...start(context, user), blocks: [{ type: "alert", severity: "warning", text }, ...inputs] };
  }

  async function press(
    { context, action, inputs: given = {}, payload = {} }: Any,
    user: string,
    headers: Headers,
  ) {
    const bearer = headers.get("authorization");
    const key = headers.get("idempotency-key");
    let state = { nonce: randomUUID() as string, user, context: contextText(context) };
    const trustsMissing = has("trusts a missing payload") && payload.state === undefined;
    if (!trustsMissing) {
      const isSigned = typeof payload.state === "string" && payload.mac === sign(payload.state);
      if (!isSigned && !has("trusts an altered payload")) throw new Refusal(400, "The payload was altered");
      try {
        if (isSigned) state = JSON.parse(payload.state);
      } catch {
        throw new Refusal(400, "The payload was altered");
      }
    }
    if (state.user !== user && !has("takes the payload of another user"))
      throw new Refusal(400, "The payload is not yours");
    if (state.context !== contextText(context) && !has("takes the payload of another context"))
      throw new Refusal(400, "The payload is of another context");
    const isKnown = has("looks actions up in an object")
      ? ({ go: 1, skip: 1 } as Any)[action] !== undefined
      : action === "go" || action === "skip";
    if (!isKnown && !has("takes every action")) return warn(context, user, "There is no such action");
    const bad = inputFault(given);
    if (bad !== null) return warn(context, user, bad);
    const name = has("knows a press by its Idempotency-Key alone")
      ? (key ?? randomUUID())
      : state.nonce + (has("lets a view be used for each action") ? action : "");
    const earlier = used.get(name);
    const hasEffects = has("doubles the effects of a repeated press in silence") && earlier !== undefined;
    if (hasEffects) await takeEffect(context, bearer);
    if (earlier?.action === action && !has("doubles a repeated press")) return await earlier.answer;
    if (earlier !== undefined && !has("doubles a repeated press"))
      return warn(context, user, "The view was used");
    if (has("looks before it reserves")) await new Promise(resolve => setImmediate(resolve));
    const answered = act(context, user, given, bearer);
    used.set(name, { action, answer: answered });
    return await answered;
  }

  function inputFault(given: Any): string | null {
    const { title = "", csv = "", logo = "", tint = "" } = given;
    if (has("fails on long texts") && title.length > 1_000) throw new Error("too long");
    const isBase64 = (text: string): boolean =>
      has("decodes Base64 leniently") || /^[A-Za-z0-9+/_-]*={0,2}$/.test(text);
    if (!isBase64(csv) || !isBase64(logo)) return "The file is no Base64";
    const isImage =
      /^(iVBORw0KGgo|\/9j\/|R0lGOD|UklGR|$)/.test(logo) ||
      has("takes SVG for an image") ||
      has("decodes Base64 leniently");
    if (!isImage) return "The image is none";
    return /^(#[0-9a-f]{6})?$/.test(tint) || has("takes any colour") ? null : "The colour is none";
  }

  /** Changes the event, after a trial that changes nothing. */
  async function takeEffect({ eventId }: Any, bearer: string | null): Promise<void> {
    const data = { type: "events", id: eventId, attributes: { annotations: { note: randomUUID() } } };
    const headers = { authorization: bearer ?? "", "content-type": "application/json" };
    for (const query of ["?dry_run=true", ""]) {
      const path = `${control}/api/v2/events/${eventId}${query}`;
      await fetch(new Request(path, { method: "PATCH", headers, body: JSON.stringify({ data }) }));
    }
  }

  async function act(context: Any, user: string, { title = "" }: Any, bearer: string | null) {
    await takeEffect(context, bearer);
    if (has("answers presses with 204")) throw new Refusal(204, "");
    const task: Task = { id: randomUUID(), user, context: contextText(context), polls: 0 };
    tasks.set(task.id, task);
    const shown = has("shows typed markup")
      ? title
      : title.slice(0, 99).replaceAll("&", "&amp;").replaceAll("<", "&lt;");
    const running = { id: task.id, state: "running", progress: 0, pollIntervalMs: 500 };
    return view(context, user, { blocks: [{ type: "text", text: `Working on ${shown}` }], task: running });
  }

  async function poll(context: Any, taskId: string, user: string) {
    if (has("answers polls with 404")) throw new Refusal(404, "There is no such task");
    if (has("never answers a poll")) await new Promise(() => {});
    const task = tasks.get(taskId);
    if (task === undefined && has("fails on unknown tasks")) throw new Error("no task");
    const isOwn = task?.user === user || has("shows another user's task");
    const isHere =
      task?.context === contextText(context) ||
      (has("shows a task in another context") && task?.user === user);
    const isShown = isOwn && (isHere || has("shows another user's task"));
    if (task === undefined || !isShown) return warn(context, user, "There is no such task");
    task.polls += 1;
    const steps = has("lets progress fall") ? [40, 20] : [40, has("has progress 140") ? 140 : 80];
    const progress = steps[task.polls - 1];
    const isRunning = progress !== undefined || (has("begins a task anew after its end") && task.polls > 3);
    if (has("fails at the end of a task") && !isRunning) throw new Error("at the end");
    const state = isRunning ? "running" : "completed";
    const blocks = [{ type: "alert", severity: "success", text: isRunning ? "Working" : "Done" }];
    return view(context, user, {
      blocks,
      task: { id: task.id, state, progress: progress ?? 100, pollIntervalMs: 500 },
    });
  }

  return {
    async fetch(request: Request): Promise<Response> {
      if (has("answers after 31 s")) advance(31_000);
      try {
        const answered = await answer(request);
        if (has("answers 200 with HTML"))
          return new Response("<h1>Hello</h1>", { headers: { "content-type": "text/html" } });
        if (has("answers without blocks")) return Response.json({ ...answered, blocks: undefined });
        const isStart = answered.actions !== undefined && answered.blocks[0].type === "text";
        return Response.json(answered, { status: has("opens with 201") && isStart ? 201 : 200 });
      } catch (error) {
        if (!(error instanceof Refusal))
          return Response.json({ title: "Failed", status: 500 }, { status: 500 });
        const { status, message: title } = error;
        if (status === 200) return Response.json(start({}, "nobody"));
        if (status === 204) return new Response(null, { status });
        if (has("refuses in plain text")) return new Response(title, { status });
        return new Response(JSON.stringify({ status, title }), {
          status,
          headers: {
            "content-type": "application/problem+json",
            ...(status === 401 && !has("sends no challenge") ? { "www-authenticate": "Bearer" } : {}),
          },
        });
      }
    },
  };
}
