import { openedToken } from "../../kernel/token.ts"
import type { Images } from "./images.ts"

/** What workloads begin with beside the machine's own programs. */
export const images = openedToken<Images>("images")
