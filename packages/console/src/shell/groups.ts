/** The headings in their order; an area of none of them stands under the last. */
export const GROUPS = [
  "Data",
  "Run",
  "Messages",
  "Users",
  "Intelligence",
  "Edge",
  "Organization",
  "More",
] as const
