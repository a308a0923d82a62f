# Starts install.py with the Python that this kit is for: .\install.ps1 --target DIR
$kit = $PSScriptRoot
$wanted = (Get-Content -Raw -Encoding UTF8 (Join-Path $kit "kit.json") | ConvertFrom-Json).python
$candidates = @(@("py", "-$wanted"), @("python$wanted"), @("python3"), @("python"))
if ($env:PYTHON) { $candidates = @(, @($env:PYTHON)) + $candidates }
foreach ($words in $candidates) {
    $python = $words[0]
    $more = @($words | Select-Object -Skip 1)
    if (-not (Get-Command $python -ErrorAction SilentlyContinue)) { continue }
    $said = & $python @more -I -c "import sys; print('%d.%d' % sys.version_info[:2])" 2>$null
    if ($LASTEXITCODE -eq 0 -and $said -eq $wanted) {
        & $python @more -I (Join-Path $kit "install.py") @args
        exit $LASTEXITCODE
    }
}
$told = "satchel: this kit needs Python $wanted, which is not on the PATH; `$env:PYTHON names one"
[Console]::Error.WriteLine($told)
exit 4
