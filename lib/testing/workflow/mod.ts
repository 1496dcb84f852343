/**
 * Tests of workflow backends without a server, a browser or waiting.
 *
 * @module
 */

export type { Call } from "../call.ts";
export { TestDialogue, type TestedBackend, testDialogue } from "./test_dialogue.ts";
export type { TestEnvironment, TestRole, TestWorld, TestWorldOptions } from "./test_world.ts";
