import assert from "node:assert/strict";
import type { Answer } from "../support/platform.ts";

/** Asserts that an answer is an error of the problem family with this status and code. */
export function assertProblem(answer: Answer, status: number, code: string): void {
  assert.deepEqual(
    [answer.status, answer.json?.status, answer.json?.code],
    [status, status, code],
    answer.text,
  );
  assert.equal(answer.headers.get("content-type"), "application/problem+json");
}
