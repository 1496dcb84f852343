/**
 * Login of authoring users by a mailed code.
 *
 * Every address that asks gets a session and a code, but the code is mailed to known users alone: neither answers nor the number
 * of operations reveal who is known.
 */

import * as v from "valibot";
import { uuid } from "../../../auth/crypto/mod.ts";
import type { RandomBytes } from "../../../auth/mod.ts";
import { AppError } from "../../../base/errors/mod.ts";
import { codeAgeMsMax } from "../../../fans/identity/codes/codes.ts";
import type { IdentityContext } from "../../../fans/identity/mod.ts";
import { json, named, open, route } from "../../../http/mod.ts";
import { jsonApiMediaType } from "../../../http/requests/body.ts";
import { platformPartition } from "../../../storage/names.ts";
import { authorEmail, resources } from "../../table/mod.ts";
import { mismatch } from "../jsonapi/input.ts";
import { documentSchema } from "../jsonapi/schemas.ts";
import type { ControlServices } from "../services.ts";
import { tokenObject } from "./routes.ts";

/** Life of the token of a login, in seconds: 30 days. */
const loginSeconds = 2_592_000;
const sessionKey = "session";
/** Counts attempts of authors apart from those of projects. */
const attemptsOf = "authors";

/** What a login needs of identity: its codes with their limits, and mail. */
export type LoginServices = Pick<IdentityContext, "codes" | "limiter" | "mailer" | "background">;

interface SessionRoutesContext {
  readonly services: ControlServices;
  readonly login: LoginServices;
  readonly random: RandomBytes;
}

const SessionSchema = named(
  "Session",
  v.object({
    data: v.object({
      type: v.literal("sessions"),
      id: v.pipe(v.string(), v.description("Id of the login")),
      attributes: v.object({
        email: v.pipe(v.string(), v.description("The address as it was sent")),
        expires_at: v.pipe(v.number(), v.description("When the code ends, in Unix seconds")),
      }),
    }),
  }),
);

export function sessionRoutes(context: SessionRoutesContext) {
  return [createRoute(context), verifyRoute(context)];
}

function createRoute({ services, login, random }: SessionRoutesContext) {
  const { limiter, codes, background, mailer } = login;
  return route({
    method: "POST",
    path: "/api/v2/sessions",
    operation: "createSession",
    summary: "Begin a login",
    description:
      "Mails a code to an authoring user, for 10 minutes. The answer is the same for unknown addresses.",
    auth: open,
    body: {
      ...bodyOf("NewSession", { email: v.pipe(authorEmail, v.description("Address of the person")) }),
      mediaTypes: [jsonApiMediaType],
      example: { data: { type: "sessions", attributes: { email: "sam@example.com" } } },
    },
    responses: { 201: { description: "The login, which waits for the code", schema: SessionSchema } },
    errors: ["conflict", "rate_limited", "storage_unavailable"],
    handle: async ({ body, info }) => {
      requireSession(body.data);
      const { email } = body.data.attributes;
      const attempt = await limiter.attempt("forgot", {
        projectId: attemptsOf,
        address: info.address,
        email,
      });
      const id = uuid(random);
      const expireAt = services.clock() + codeAgeMsMax;
      await services.store.commit(sessionPartition(id), {
        writes: [{ type: "put", key: sessionKey, value: JSON.stringify(email), expireAt }],
      });
      if (attempt === "go") {
        const code = await codes.issue(null, "login", { email, holder: id });
        const user = await services.authors.find(email);
        if (user !== null) {
          background.run("mail_author_code", info, () => mailer.send(codeMail(user.email, code)));
        }
      }
      const attributes = { email, expires_at: Math.floor(expireAt / 1_000) };
      return json(201, { data: { type: "sessions", id, attributes } });
    },
  });
}

function verifyRoute({ services, login }: SessionRoutesContext) {
  const { limiter, codes } = login;
  return route({
    method: "POST",
    path: "/api/v2/sessions/:sessionId/verify",
    operation: "verifySession",
    summary: "Complete a login",
    description: "Takes the mailed code, once, and answers with an access token for 30 days.",
    auth: open,
    params: v.object({ sessionId: v.pipe(v.string(), v.description("Id of the login"), v.maxLength(100)) }),
    body: {
      ...bodyOf("SessionCode", {
        code: v.pipe(
          v.string(),
          v.maxLength(32),
          v.description("The mailed code; whatever is no digit is left out"),
        ),
      }),
      mediaTypes: [jsonApiMediaType],
      example: { data: { type: "sessions", attributes: { code: "12345678" } } },
    },
    responses: { 201: { description: "The token", schema: documentSchema(resources.access_tokens) } },
    errors: ["conflict", "invalid_code", "rate_limited", "storage_unavailable"],
    handle: async ({ body, params: { sessionId }, info }) => {
      requireSession(body.data);
      await limiter.attempt("confirm", { projectId: attemptsOf, address: info.address });
      const partition = sessionPartition(sessionId);
      const [stored] = await services.store.read(partition, [{ type: "record", key: sessionKey }]);
      const email = stored === null ? null : (JSON.parse(stored.value) as string);
      const { code } = body.data.attributes;
      const isRight =
        email !== null && (await codes.redeem(null, "login", { email, holder: sessionId, code }));
      const user = isRight ? await services.authors.find(email) : null;
      if (user === null) {
        throw new AppError("invalid_code", "Cannot log in as the code is wrong, spent or too old");
      }
      const expires = Math.floor(services.clock() / 1_000) + loginSeconds;
      const token = { userId: user.id, name: "Login", expires, isLogin: true };
      return json(201, { data: tokenObject(await services.authors.createToken(token)) }) as never;
    },
  });
}

function bodyOf<E extends v.ObjectEntries>(name: string, entries: E) {
  const attributes = v.strictObject(entries);
  const described = v.strictObject({
    data: v.pipe(
      v.strictObject({ type: v.literal("sessions"), attributes }),
      v.description("Resource object of the login"),
    ),
  });
  const schema = v.strictObject({ data: v.strictObject({ type: v.string(), attributes }) });
  return { schema, described: named(name, described) };
}

function requireSession({ type }: { readonly type: string }): void {
  if (type !== "sessions") throw mismatch("/data/type", "Expected the type sessions");
}

function codeMail(to: string, code: string) {
  const minutes = codeAgeMsMax / 60_000;
  const text = `Your code is ${code}. It is valid for ${minutes} minutes and can be used once.\n\nIf you did not ask for it, ignore this message. Never give the code to anybody.\n`;
  return { to, kind: "authorCode", subject: "Your code to log in", text, code } as const;
}

function sessionPartition(id: string): string {
  return platformPartition("author_session", id);
}
