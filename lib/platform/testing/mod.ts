/**
 * Tests of workflow backends without a server, a browser or waiting.
 *
 * @module
 */

export { TestDialogue, type TestedBackend, testDialogue } from "./test_dialogue.ts";
export type { TestEnvironment, TestRole, TestScope, TestWorld, TestWorldOptions } from "./test_world.ts";
