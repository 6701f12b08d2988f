import { defineConfig } from "vite";

export default defineConfig({
  // The console lives below a stage's prefix, so every address in it is relative.
  base: "./",
  // `npm run dev` shows the pages over the API of a running `make run`.
  server: {
    proxy: Object.fromEntries(
      ["/v1", "/local", "/console/settings.json"].map((path) => [path, "http://127.0.0.1:8700"]),
    ),
  },
  build: {
    outDir: "../shared/parlour/api/console",
    emptyOutDir: true,
    target: "es2023",
    // The Content-Security-Policy allows neither `data:` addresses nor inline scripts.
    assetsInlineLimit: 0,
    modulePreload: { polyfill: false },
    rolldownOptions: {
      input: { index: "index.html", chat: "chat.html", embed: "embed.html", widget: "src/widget.ts" },
      // Pages of other hosts name the widget, so its name stays.
      output: { entryFileNames: ({ name }) => (name === "widget" ? "widget.js" : "assets/[name]-[hash].js") },
    },
  },
});
