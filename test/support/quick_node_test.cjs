/**
 * Loaded before `node:test`, which asks Node to tell of every promise that begins or ends, for the test that it belongs to.
 * That takes a sixth of a run. Here tests alone are noted, so that nested ones find their parents; an exception that nobody
 * awaits fails the file instead of its test. A process ends soon after its tests, whatever a failed one left open.
 */

"use strict";

const hooks = require("node:async_hooks");
const { AsyncResource, createHook } = hooks;

let noteTest;
// Nobody else asks for the ends of promises.
hooks.createHook = callbacks => {
  if (callbacks.destroy === undefined) return createHook(callbacks);
  noteTest = callbacks.init;
  const hook = { enable: () => hook, disable: () => hook };
  return hook;
};
hooks.AsyncResource = class extends AsyncResource {
  constructor(type, options) {
    super(type, options);
    noteTest?.(this.asyncId(), type, this.triggerAsyncId(), this);
  }
};

/** Time for which a process may go on after its last test, in ms. */
const endMsMax = 20_000;

require("node:test").after(() => {
  setTimeout(() => {
    const open = process.getActiveResourcesInfo().join();
    process.stderr.write(`has not ended ${endMsMax} ms after its tests: ${open}\n`);
    process.exit(1);
  }, endMsMax).unref();
});
