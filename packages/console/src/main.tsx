import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
import { loadIndex } from "./derived/manifest.ts"
import { loadSession } from "./session.ts"
import { App } from "./shell/app.tsx"
import "./style.css"
import "./screens/screens.css"

const place = document.getElementById("app")
if (!place) throw new Error("the page has no place for the console")

try {
  await Promise.all([loadIndex(document.documentElement.dataset.operations ?? ""), loadSession()])
  createRoot(place).render(
    <StrictMode>
      <App />
    </StrictMode>,
  )
} catch (error) {
  place.textContent = `The console could not start: ${error instanceof Error ? error.message : String(error)}`
}
