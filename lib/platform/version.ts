/** The version of the package. */
export const version = "0.6.0";
