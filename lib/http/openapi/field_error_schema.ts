/** JSON Schema of one located input error, shared by the families. */
export const fieldErrorSchema: Readonly<Record<string, unknown>> = {
  type: "object",
  required: ["pointer", "detail"],
  properties: {
    pointer: { type: "string", description: "JSON Pointer into the body, or the name of a parameter" },
    detail: { type: "string" },
    reason: { type: "string", description: "Short code of what is wrong" },
  },
};
