import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLogSink } from "../../runtime/services/log_sink.ts";

function open(): {
  written: string[];
  stream: { writableLength: number; write(text: string, done?: () => void): void };
} {
  const written: string[] = [];
  return {
    written,
    stream: {
      writableLength: 0,
      write(text, done) {
        written.push(text);
        done?.();
      },
    },
  };
}

describe("the log sink", () => {
  it("writes lines of a moment together", context => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { written, stream } = open();
    const sink = createLogSink(stream);
    sink.write("a\n");
    sink.write("b\n");
    assert.deepEqual(written, []);
    context.mock.timers.tick(50);
    assert.deepEqual(written, ["a\nb\n"]);
    sink.write("c\n");
    context.mock.timers.tick(50);
    assert.deepEqual(written, ["a\nb\n", "c\n"]);
  });

  it("writes a large batch at once", context => {
    context.mock.timers.enable({ apis: ["setTimeout"] });
    const { written, stream } = open();
    const line = `${"x".repeat(65_536)}\n`;
    createLogSink(stream).write(line);
    assert.deepEqual(written, [line]);
  });

  it("drops lines that its reader does not take, and says how many", async () => {
    const { written, stream } = open();
    const sink = createLogSink(stream);
    stream.writableLength = 8_388_608 + 1;
    sink.write("lost\n");
    sink.write("lost too\n");
    stream.writableLength = 0;
    sink.write("kept\n");
    await sink.flush();
    const [line, report = "{}"] = written.join("").trimEnd().split("\n");
    assert.equal(line, "kept");
    assert.deepEqual(
      { ...JSON.parse(report), time: null },
      { time: null, level: "warn", event: "log_lines_dropped", count: 2 },
    );
    await sink.flush();
    assert.equal(written.join("").split("log_lines_dropped").length, 2);
  });
});
