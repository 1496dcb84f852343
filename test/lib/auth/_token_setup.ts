/** A platform's tokens under test, and what they are expected to say. */
import assert from "node:assert/strict";
import type { KeyRing, Tokens } from "../../../lib/auth/mod.ts";
import type { TokenContent, TokenExpectation } from "../../../lib/auth/tokens/mod.ts";
import { createTokens } from "../../../lib/auth/tokens/mod.ts";
import { createFixture, type Fixture, hasCode, openRing } from "./_setup.ts";

export const expected = {
  typ: "at+jwt",
  issuer: "https://id.example",
  audience: "https://api.example",
} as const satisfies TokenExpectation;
export const content: TokenContent = {
  ...expected,
  subject: "user-1",
  ttlSeconds: 600,
  claims: { orgId: "org-1", scope: ["a", "b"] },
};

export interface Subject {
  readonly fixture: Fixture;
  readonly ring: KeyRing;
  readonly tokens: Tokens;
}

export async function createSubject(fixture: Fixture = createFixture()): Promise<Subject> {
  const ring = await openRing(fixture);
  return { fixture, ring, tokens: createTokens({ ...fixture, ring }) };
}

export function encode(value: unknown): string {
  return Buffer.from(typeof value === "string" ? value : JSON.stringify(value)).toString("base64url");
}

export function decode(part: string | undefined): Record<string, unknown> {
  return JSON.parse(Buffer.from(part ?? "", "base64url").toString());
}

export async function assertRefused(tokens: Tokens, token: string, why: string): Promise<void> {
  await assert.rejects(
    async () => await tokens.verify(token, expected),
    error => hasCode("invalid_token")(error) && String(error).includes("not valid for this request"),
    why,
  );
}
