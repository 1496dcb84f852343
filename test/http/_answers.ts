/** Checks answers against their schemas in the OpenAPI document, with no further members. */

import assert from "node:assert/strict";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import type { Answer, TestPlatform } from "../support/platform.ts";

/** An operation of the document. */
interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<
    Record<string, { readonly content: Readonly<Record<string, { readonly schema: unknown }>> }>
  >;
}

/** The answers of the document. */
export interface DescribedReplies {
  /** Returns true if a value fits the schema of an operation's success. */
  fits(operation: string, body: unknown): boolean;
  /** Asserts that an answer is a success, holds something, and has all members of its schema and no others. */
  assertDescribed(operation: string, answer: Answer): void;
}

/** Reads the document of the platform. */
export async function describeReplies(world: TestPlatform): Promise<DescribedReplies> {
  const { paths, components } = (await world.call("/openapi.json")).json;
  const operations = Object.values(paths as Record<string, Record<string, Operation>>).flatMap(path =>
    Object.values(path),
  );
  function validator(id: string, status: number): ValidateFunction {
    const found = operations.find(({ operationId }) => operationId === id);
    const [content] = Object.values(found?.responses[status]?.content ?? {});
    assert.ok(content !== undefined, `${id} tells of no answer ${status}`);
    return new Ajv2020({ strict: false, validateFormats: false }).compile(
      closed({ ...(content.schema as object), components }) as object,
    );
  }
  return {
    fits: (operation, body) => validator(operation, 200)(body),
    assertDescribed(operation, { status, text }) {
      assert.ok(status >= 200 && status < 300, text);
      const validate = validator(operation, status);
      const body: { readonly data?: object; readonly users?: object } = JSON.parse(text);
      assert.ok(validate(body), `${operation}: ${JSON.stringify(validate.errors)}\n${text}`);
      const held = body.users ?? body.data ?? [];
      const entries = Array.isArray(held) ? held : Object.values(held);
      assert.ok(entries.length > 0, `${operation} answers nothing`);
    },
  };
}

/** The schema with no other members than those that it names. */
function closed(schema: unknown): unknown {
  if (Array.isArray(schema)) return schema.map(closed);
  if (typeof schema !== "object" || schema === null) return schema;
  const parts = Object.fromEntries(Object.entries(schema).map(([name, part]) => [name, closed(part)]));
  return Object.hasOwn(parts, "properties") ? { ...parts, additionalProperties: false } : parts;
}
