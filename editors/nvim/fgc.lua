-- Neovim 0.8 and later: `fgc lsp` for .fg files. Copy to ~/.config/nvim/plugin/fgc.lua, and editors/vim to
-- a folder of 'runtimepath' for colours and indentation.
vim.api.nvim_create_autocmd("FileType", {
    pattern = "fg",
    callback = function(event)
        local path = vim.api.nvim_buf_get_name(event.buf)
        vim.lsp.start({
            name = "fgc",
            cmd = { "fgc", "lsp" }, -- { "fgc", "lsp", "--target", "my-gpu.json" } checks for another GPU
            root_dir = vim.fs.dirname(path),
        })
    end,
})
