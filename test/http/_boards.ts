import assert from "node:assert/strict";
import { type Answer, ids, type TestPlatform } from "../support/platform.ts";

/** The path of a user's entry on the board at a path. */
export function entryPath(board: string, userId: string): string {
  return `${board}/users/${encodeURIComponent(userId)}`;
}

/** A back end that writes scores. */
export class BoardWriter {
  readonly headers: Readonly<Record<string, string>>;
  readonly #world: TestPlatform;

  private constructor(world: TestPlatform, headers: Readonly<Record<string, string>>) {
    this.#world = world;
    this.headers = headers;
  }

  /** Makes a key of the organisation that may write rewards. */
  static async create(world: TestPlatform, organisationId: string = ids.organisation): Promise<BoardWriter> {
    const { key, secret } = await world.platform.apiKeys.create({
      organisationId,
      name: "Scores",
      permissions: ["rewards:write"],
    });
    return new BoardWriter(world, { "x-api-key": key, "x-api-secret": secret });
  }

  /** Sends a PUT and answers whatever came of it. */
  async try(board: string, userId: string, body: unknown): Promise<Answer> {
    return await this.#world.call(entryPath(board, userId), { method: "PUT", body, headers: this.headers });
  }

  /** Sends a PUT that must succeed, and answers the entry. */
  async put(board: string, userId: string, body: unknown): Promise<{ rank: number; score: number }> {
    const { status, text, json } = await this.try(board, userId, body);
    assert.equal(status, 200, text);
    return json.data;
  }

  /** Sends a POST that adds to a score, and answers whatever came of it. */
  async add(board: string, userId: string, body: unknown): Promise<Answer> {
    const path = `${entryPath(board, userId)}/scores`;
    return await this.#world.call(path, { method: "POST", body, headers: this.headers });
  }

  async remove(board: string, userId: string): Promise<Answer> {
    return await this.#world.call(entryPath(board, userId), { method: "DELETE", headers: this.headers });
  }
}
