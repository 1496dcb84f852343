import assert from "node:assert/strict";
import { ids, type TestPlatform } from "../support/platform.ts";
import { operatorHeaders, resource, to } from "./_control_examples.ts";

/** Returns the part of an address before an id. */
export const prefix = (id: string): string => id.slice(0, 2);
/** Returns the path of a feed of an event. */
export const eventFeed = (id: string, name: string): string => `/events/${prefix(id)}/${id}/${name}.json`;
/** Attributes, or an item of a feed. */
export type Part = Readonly<Record<string, unknown>>;

/** A producer of the first project. */
export class Producer {
  readonly world: TestPlatform;

  constructor(world: TestPlatform) {
    this.world = world;
  }

  async write(path: string, method: string, body: unknown): Promise<string> {
    const headers = await operatorHeaders(this.world);
    const answer = await this.world.call(`/api/v2${path}`, { method, body, headers });
    assert.ok(answer.status < 300, `${answer.status} ${answer.text}`);
    return answer.json?.data.id;
  }

  event(attributes: Part): Promise<string> {
    const relationships = { project: to("projects", ids.project) };
    return this.write("/events", "POST", resource("events", attributes, { relationships }));
  }

  element(eventId: string, attributes: Part = {}): Promise<string> {
    const relationships = { event: to("events", eventId) };
    const all = { content_type: "poll", ...attributes };
    return this.write("/elements", "POST", resource("elements", all, { relationships }));
  }

  async operate(operations: readonly unknown[]): Promise<void> {
    const headers = await operatorHeaders(this.world);
    const body = { "atomic:operations": operations };
    const answer = await this.world.call("/api/v2/operations", { body, headers });
    assert.equal(answer.status, 200, answer.text);
  }

  act(type: string, id: string, action: string, attributes: Part = {}): Promise<string> {
    return this.write(`/${type}/${id}`, "PATCH", resource(type, { action, ...attributes }, { id }));
  }

  /** Reads a feed once its process has to look at the store again. */
  async feed(path: string): Promise<Part & Record<string, never>> {
    this.world.clock.advance(1_500);
    const answer = await this.world.call(path);
    assert.equal(answer.status, 200, answer.text);
    return answer.json;
  }
}

/** Attributes of an element with two options. */
export const poll: Part = {
  question: {
    fields: [{ key: "text", values: { all: "Who wins?", es: "¿Quién gana?" } }],
    options: [
      { fields: [{ key: "text", values: { all: "Us" } }] },
      { fields: [{ key: "text", values: { all: "Them" } }] },
    ],
  },
};
