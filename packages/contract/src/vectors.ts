import { area } from "./dsl.ts"

export const vectors = area(
  "vectors",
  { title: "Vectors", summary: "Collections of vectors and similarity search", project: "optional" },
  {},
)
