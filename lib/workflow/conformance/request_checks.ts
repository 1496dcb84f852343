import { expects, type Wanted } from "./answer.ts";
import { each, type Runs } from "./known.ts";
import type { DialogueCaller, Probe } from "./probe.ts";

const noObjects = ["", "{", "[]", "null", "7", '"text"', "[".repeat(9_999) + "]".repeat(9_999)];
const largeInput = 16_000_000;

/** Checks of what reaches a backend before any dialogue: transport, bearer, addresses and ids. */
export const requestChecks: Runs = {
  "transport.methods": ({ probe }) =>
    each(["GET", "PUT", "DELETE"], async method => expects("4xx", method, await probe.ask({ method }))),
  "transport.json": ({ probe }) =>
    each(noObjects, async body => expects("4xx", `the body ${body.slice(0, 9)}`, await probe.ask({ body }))),
  "transport.types": ({ probe }) => {
    const context = probe.context();
    const { user } = probe.options;
    const contexts = [undefined, null, [], "all", { ...user.context, [lowest(user)]: 7 }];
    const fields = [
      { action: 7 },
      { action: {} },
      { taskId: [] },
      { inputs: [] },
      { inputs: { name: { a: 1 } } },
    ];
    const payloads = ["text", []].map(payload => ({ action: "go", payload }));
    const others = [...fields, ...payloads].map(wrong => ({ ...wrong, context }));
    return each([...contexts.map(wrong => ({ context: wrong })), ...others], async body =>
      expects("a 4xx or a warning", JSON.stringify(body).slice(0, 40), await probe.ask({ body })),
    );
  },
  "transport.unknown_fields": async ({ probe }) => {
    const body = { context: { ...probe.context(), tenant: "x" }, version: 7, nothing: null };
    const headers = { accept: "application/json", "x-unknown": "1", ...probe.key() };
    return [expects("a view", "a request with unknown fields", await probe.ask({ body, headers }))];
  },
  "transport.size": async ({ probe }) => {
    const body = { context: probe.context(), inputs: { large: "x".repeat(largeInput) } };
    const answer = await probe.ask({ body });
    // A server may also close the connection.
    const fault = answer.status === 0 ? null : expects(413, "a body of 16 MB", answer);
    return [fault, expects("a view", "the next dialogue", await probe.open())];
  },
  "transport.media_type": async ({ probe }) => {
    const headers = { "content-type": "text/plain" };
    return [expects(415, "a body of type text/plain", await probe.ask({ headers }))];
  },
  "authentication.missing": async ({ probe }) => [
    expects(401, "no bearer", await probe.ask({ authorization: null })),
  ],
  "authentication.unknown": ({ probe }) => {
    const { token } = probe.options.user;
    const other = token.slice(0, -2) + (token.endsWith("AA") ? "BB" : "AA");
    const wrong = [other, "x", ""].map(text => `Bearer ${text}`);
    return each([...wrong, `Basic ${token}`], async authorization => {
      const request = `${authorization.split(" ")[0]} with another token`;
      return expects(401, request, await probe.ask({ authorization }));
    });
  },
  "authentication.expired": async ({ probe }) => {
    const authorization = `Bearer ${probe.options.expiredToken}`;
    return [expects(401, "an expired token", await probe.ask({ authorization }))];
  },
  "authentication.presses": ({ probe }) => {
    const turns = [{ action: "go" }, { taskId: "1" }];
    return each(turns, async turn => {
      const body = { context: probe.context(), ...turn };
      const request = `${JSON.stringify(turn)} without a bearer`;
      return expects(401, request, await probe.ask({ body, authorization: null }));
    });
  },
  "authentication.challenge": async ({ probe }) => {
    const { headers } = await probe.ask({ authorization: null });
    return [headers.has("www-authenticate") ? null : "the answer without a bearer lacks it"];
  },
  "base_url.foreign": async ({ probe }) => {
    const { control, listener = { url: control, requests: () => 0 } } = probe.options;
    const before = listener.requests();
    const { host } = new URL(listener.url);
    const addresses = [listener.url, `${listener.url}/api/v2`, `${control}@${host}`, `//${host}`];
    const faults = await each(addresses, async baseURL => {
      const body = { context: { ...probe.context(), baseURL } };
      return expects("4xx", `the baseURL ${baseURL}`, await probe.ask({ body }));
    });
    const count = listener.requests() - before;
    return [count === 0 ? null : `the backend asked a foreign address ${count} times`, ...faults];
  },
  "context.foreign": async ({ probe, opened }) => {
    const { user, foreign: context = {} } = probe.options;
    const by = { ...user, context };
    const body = { context: probe.context(context) };
    const press = opened.view && (await probe.press(opened.view, { by }));
    return [
      expects(403, "a dialogue in another organisation", await probe.ask({ body })),
      press && expects(403, "a press in another organisation", press),
    ];
  },
  "context.mixed": ({ probe }) => mixed(probe, probe.options.user, probe.options.foreign),
  "context.parents": async ({ probe }) => {
    const { user, elsewhere = user } = probe.options;
    const here = { ...user, token: elsewhere.token };
    return [
      ...(await mixed(probe, here, elsewhere.context)),
      ...(await mixed(probe, elsewhere, user.context)),
    ];
  },
  "context.ids": ({ probe }) => {
    const { user } = probe.options;
    const level = lowest(user);
    const own = user.context[level];
    const unknown = "00000000-0000-4000-8000-000000000000";
    const wrong = ["none", `${unknown}/../${own}`, `${own}/..`, `${own}?a=`, `${own}#`, "9".repeat(9_999)];
    return each(wrong, async id => await contextFault(probe, "4xx", user, { ...user.context, [level]: id }));
  },
};

type Context = DialogueCaller["context"];

const levels = ["eventId", "projectId", "spaceId", "organisationId"] as const;

function lowest({ context }: DialogueCaller) {
  return levels.find(level => context[level] !== undefined) ?? "organisationId";
}

/** Replaces one id of a context after the other. */
async function mixed(probe: Probe, by: DialogueCaller, others: Context = {}) {
  const given = levels.filter(level => by.context[level] !== undefined && others[level] !== undefined);
  return await each(given, async level =>
    contextFault(probe, 403, by, { ...by.context, [level]: others[level] }),
  );
}

async function contextFault(probe: Probe, wanted: Wanted, by: DialogueCaller, context: Context) {
  const answer = await probe.ask({ by: { ...by, context } });
  const changed = levels.find(level => context[level] !== by.context[level]);
  return expects(wanted, `the ${changed} ${changed && context[changed]?.slice(0, 80)}`, answer);
}
