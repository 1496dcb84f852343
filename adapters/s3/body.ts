/** Bodies of answers. */

import { lost } from "./failure.ts";
import type { S3Answer } from "./requests.ts";

/**
 * The body of an answer, which fails where the service falls silent or ends early. Nobody is waited for who does not read.
 */
export function guardedBody({ response, abort, watch }: S3Answer): ReadableStream<Uint8Array> {
  const reader = (response.body ?? new Blob([]).stream()).getReader();
  let missing = Number(response.headers.get("content-length"));
  return new ReadableStream<Uint8Array>(
    {
      async pull(controller) {
        const callOff = watch();
        try {
          const { done, value } = await reader.read();
          if (!done) {
            missing -= value.length;
            controller.enqueue(value);
          } else if (missing === 0) controller.close();
          else throw new Error(`${missing} bytes are missing`);
        } catch (error) {
          throw lost(error, { isWrite: false });
        } finally {
          callOff();
        }
      },
      async cancel() {
        abort();
        await reader.cancel().catch(() => undefined);
      },
    },
    { highWaterMark: 0 },
  );
}
