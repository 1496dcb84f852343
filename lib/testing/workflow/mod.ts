/**
 * Tests of workflow backends without a server, a browser or waiting.
 *
 * @module
 */

export type { Call } from "../world.ts";
export type { TestEnvironment, TestRole, TestWorld, TestWorldOptions } from "./test_dialogue.ts";
export { TestDialogue, type TestedBackend, testDialogue } from "./test_dialogue.ts";
