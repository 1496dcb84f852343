/** Authoring users with every kind of role and token. */

import assert from "node:assert/strict";
import { ids, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource } from "./_control_examples.ts";

/** Roles that can be granted, the least first. */
export const ranks = ["viewer", "creator", "admin"] as const;

/** A role of somebody. */
interface Granted {
  readonly level: "organisations" | "spaces" | "projects";
  readonly id: string;
  readonly role: (typeof ranks)[number];
}

/** Creates a person, and returns the text of a token. */
export async function personWith(
  world: TestPlatform,
  grant: Granted | null,
  token: object = {},
): Promise<string> {
  const email = `${crypto.randomUUID()}@example.com`;
  const { authors } = world.platform;
  const { id: userId } = await authors.findOrCreate(email);
  if (grant !== null) {
    const answer = await world.call(`/api/v2/${grant.level}/${grant.id}/roles`, {
      headers: await operatorHeaders(world),
      body: resource("scope_roles", { email, role: grant.role }),
    });
    assert.equal(answer.status, 201, answer.text);
  }
  return (await authors.createToken({ userId, name: "Test", ...token })).token;
}

/**
 * Creates people with each role in the organisation, with roles elsewhere, and with tokens that are worth less. Moves the clock,
 * so that the token `expired` is.
 */
export async function manyPeople(world: TestPlatform): Promise<Readonly<Record<string, string>>> {
  const { authors } = world.platform;
  const within = { level: "organisations", id: ids.organisation } as const;
  const admin = { ...within, role: "admin" } as const;
  const tokens: Record<string, string> = { malformed: "gst_x" };
  for (const role of ranks) tokens[role] = await personWith(world, { ...within, role });
  tokens.none = await personWith(world, null);
  tokens.other = await personWith(world, { ...admin, id: ids.otherOrganisation });
  tokens.space = await personWith(world, { level: "spaces", id: ids.space, role: "admin" });
  tokens.project = await personWith(world, { level: "projects", id: ids.project, role: "admin" });
  tokens.capped = await personWith(world, admin, { roleCap: "viewer" });
  tokens.scoped = await personWith(world, admin, { scopes: [{ kind: "space", id: ids.otherSpace }] });
  tokens.expired = await personWith(world, admin, { expires: Math.floor(world.clock.now() / 1_000) + 5 });
  tokens.revoked = await personWith(world, admin);
  const { user, token } = await authors.verify(tokens.revoked);
  assert.ok(await authors.revokeToken(user.id, token.id));
  world.clock.advance(6_000);
  return tokens;
}
