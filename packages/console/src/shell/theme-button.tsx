import { createStore, remember, remembered } from "../store.ts"

type Theme = "system" | "light" | "dark"

const known = remembered("theme")
const theme = createStore<Theme>(known === "light" || known === "dark" ? known : "system")
const NEXT: Readonly<Record<Theme, Theme>> = { system: "light", light: "dark", dark: "system" }

export const nextTheme = (): void => {
  const next = NEXT[theme.get()]
  theme.set(next)
  remember("theme", next === "system" ? null : next)
  if (next === "system") delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = next
}

/** Its name is what it shows, so that who speaks to it can say what they read. */
export const ThemeButton = () => (
  <button type="button" className="quiet" onClick={nextTheme}>
    Theme: {theme.use()}
  </button>
)
