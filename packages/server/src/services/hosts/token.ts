import { openedToken } from "../../kernel/token.ts"
import type { Hosts } from "./hosts.ts"

/** Where workloads are placed, and what capacity is left for them. */
export const hosts = openedToken<Hosts>("hosts")
